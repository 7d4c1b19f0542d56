// The Merkle path of a row.

import { useRef, useState } from "preact/hooks";

import { ask, type Status } from "./api.ts";
import { parseOpening, type Opening } from "./opening.ts";
import { against, Basis, Trusted, type Against } from "./trust.tsx";
import { verify, type Answer } from "./verification.ts";
import { count, Digest, short } from "./words.tsx";

interface Found extends Against {
    readonly opening: Opening;
    readonly epoch: string;
    readonly answer: Answer;
}

export function Row({ status }: { status: Status }) {
    const [index, setIndex] = useState("");
    const [found, setFound] = useState<Found | null>(null);
    const [mistake, setMistake] = useState("");
    const [trusted, setTrusted] = useState("");
    const last = useRef(0);
    const run = async (): Promise<void> => {
        last.current += 1;
        const own = last.current;
        setFound(null);
        setMistake("");
        try {
            const response = await ask(`v1/openings/${encodeURIComponent(index.trim())}`);
            const [epoch, told] = ["evergrove-epoch", "evergrove-commitment"].map((name) => response.headers.get(name) ?? "");
            const bytes = new Uint8Array(await response.arrayBuffer());
            const opening = parseOpening(bytes);
            if (opening.index !== BigInt(index)) throw new Error(`the service answered with position ${opening.index}, asked for ${index}`);
            const basis = against(trusted, told ?? "");
            const answer = await verify({ proof: bytes, commitment: basis.commitment });
            // Another question may have come meanwhile.
            if (own === last.current) setFound({ opening, epoch: epoch ?? "", ...basis, answer });
        } catch (error) {
            if (own === last.current) setMistake(error instanceof Error ? error.message : String(error));
        }
    };
    return (
        <section class="card" aria-labelledby="row-title">
            <h2 id="row-title">Merkle path of a row</h2>
            <form
                class="stack"
                onSubmit={(event) => {
                    event.preventDefault();
                    void run();
                }}
            >
                <div class="line">
                    <label for="index">Position, 0 to {count(2 ** status.height - 1)}</label>
                    <input id="index" type="number" min="0" max={2 ** status.height - 1} step="1" required value={index} onInput={(event) => setIndex(event.currentTarget.value)} />
                </div>
                <Trusted id="trusted-row" value={trusted} set={setTrusted} />
                <button id="open" type="submit">Show its path</button>
            </form>
            <div id="path" role="status">
                {mistake !== "" && <p class="error">{mistake}</p>}
                {found !== null && <Path {...found} />}
            </div>
        </section>
    );
}

function Path({ opening, epoch, commitment, given, answer }: Found) {
    const valid = "verdict" in answer && answer.verdict.accepted;
    const root = commitment.split(":")[2] ?? "";
    return (
        <>
            <p class={valid ? "accepted" : "refused"}>
                <strong>{valid ? "✓ Verified" : "✗ Not verified"}</strong>{" "}
                {valid
                    ? `Position ${opening.index} ${opening.value === null ? "is empty" : "has this value"} under this commitment, in the epoch that the service calls ${epoch}.`
                    : "failure" in answer ? answer.failure : `${answer.verdict.sentence}.`}
            </p>
            <Basis given={given} />
            <ol class="path">
                <li><span class="soft">root</span> <Digest text={root} /></li>
                {opening.siblings.map((sibling, level) => {
                    const right = (opening.index >> BigInt(level)) % 2n === 1n;
                    return (
                        <li key={level} class={right ? "right" : "left"}>
                            <span class="soft">level {level}: the path is the {right ? "right" : "left"} child, its sibling</span>{" "}
                            <code title={sibling}>{short(sibling)}</code>
                        </li>
                    );
                }).reverse()}
                <li><span class="soft">value</span> {opening.value === null ? "empty" : <Digest text={opening.value} />}</li>
            </ol>
        </>
    );
}
