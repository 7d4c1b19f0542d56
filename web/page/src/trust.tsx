// Which commitment a verification is against, and who says so.

import { OWN_PAGE } from "./verification.ts";

/** The commitment to compare with: the one that was given, or that of the service. */
export interface Against {
    readonly commitment: string;
    /** True if it was given. */
    readonly given: boolean;
}

/** What was typed, or `told` by the service. */
export function against(typed: string, told: string): Against {
    const commitment = typed.replace(/\s/g, "");
    return commitment === "" ? { commitment: told, given: false } : { commitment, given: true };
}

export function Trusted({ id, value, set }: { id: string; value: string; set: (text: string) => void }) {
    return (
        <>
            <label for={id}>Commitment from a source that you trust <span class="soft">optional</span></label>
            <input id={id} type="text" autocomplete="off" spellcheck={false} placeholder="evergrove1:…" value={value} onInput={(event) => set(event.currentTarget.value)} />
        </>
    );
}

/** What a verdict rests on. */
export function Basis({ given }: { given: boolean }) {
    return (
        <>
            {!given && <p class="hint">The commitment came from the service too. Compare it with one from a source that you trust: a service that lies would show its own.</p>}
            <p class="hint">{OWN_PAGE.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</p>
        </>
    );
}
