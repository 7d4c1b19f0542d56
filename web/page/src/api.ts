// What the service answers, and how it is asked.

export interface Proven {
    readonly epoch: number;
    readonly commitment: string;
    readonly proof_kind: string;
    readonly proof_bytes: number;
}

export interface Batch {
    readonly name: string;
    readonly members: number;
    /** The first member: only with a token. */
    readonly first?: number;
    readonly scheme: string;
    readonly backend: string;
    readonly profile: string;
    readonly fresh: boolean;
    readonly proven: Proven | null;
}

/** `/v1/status`. */
export interface Status {
    readonly state: "running" | "leaving" | "stopping";
    readonly epoch: number;
    readonly commitment: string;
    readonly height: number;
    readonly rows: number;
    readonly queue: { readonly waiting: number; readonly capacity: number };
    readonly provers: { readonly by: Prover; readonly running: number; readonly workers: number | null };
    readonly stalled: boolean;
    readonly disk_full: boolean;
    readonly proving: {
        readonly batch: string;
        readonly epoch: number;
        readonly proofs_made: number;
        readonly proofs_to_make: number;
        readonly seconds_left: number | null;
    } | null;
    readonly failing: readonly { readonly batch: string; readonly epoch: number; readonly cause: string }[];
    readonly batches: readonly Batch[];
}

export type Prover = "service" | "workers";

/** One of `/v1/epochs`. */
export interface Epoch {
    readonly epoch: number;
    readonly commitment: string;
    readonly height: number;
    readonly rows: number;
    readonly committed: { readonly age: number; readonly set: number; readonly deleted: number; readonly proven_after: number | null } | null;
}

export interface ChangeSet {
    readonly epoch: number;
    readonly positions: readonly number[];
    readonly more: boolean;
}

export interface TreeNode {
    readonly number: number;
    readonly parent: number | null;
    readonly depth: number;
    readonly kind: string;
    /** What it is about: only with a token. */
    readonly height?: number;
    readonly first?: number;
    readonly members?: number;
}

/** `/v1/batches/{name}/tree`. */
export interface TreeAnswer {
    readonly batch: string;
    readonly process: string;
    readonly epoch: number;
    readonly height: number;
    readonly proofs: number;
    readonly changes: number;
    readonly seconds_left: number | null;
    readonly prover: Prover;
    readonly structure: string;
    readonly nodes?: readonly TreeNode[];
    readonly states: string;
    readonly workers: readonly (readonly [number, string])[];
}

/** The data of a `progress` event. */
export interface Progress {
    readonly batch: string;
    readonly process: string;
    readonly epoch: number;
    readonly from: number;
    readonly to: number;
    readonly proofs_made: number;
    readonly proofs_to_make: number;
    readonly seconds_left: number | null;
    readonly proofs: readonly (readonly [number, "stale" | "proving" | "proven" | "reused"])[];
    readonly workers: readonly (readonly [number, string])[];
}

/** The service refused a request. */
export class Refusal extends Error {
    constructor(
        readonly status: number,
        readonly detail: string,
    ) {
        super(detail);
    }
}

/** With the path: a proxy may serve another service below another one. */
const KEY = `evergrove-token ${new URL(".", location.href).pathname}`;

/** Only for this tab, and gone when it is closed. */
export const token = {
    get: (): string => sessionStorage.getItem(KEY) ?? "",
    set: (value: string): void => (value === "" ? sessionStorage.removeItem(KEY) : sessionStorage.setItem(KEY, value)),
    /** A header cannot have other characters. */
    mistake: (value: string): string => (/^[!-~]*$/.test(value) ? "" : "A token has letters, digits and signs of ASCII alone, and no spaces within."),
};

/** A question is answered within this time, in milliseconds, or counts as failed. */
const DEADLINE = 20_000;
/** The same of files of some size. */
export const LONG_DEADLINE = 120_000;

/** Paths are relative, for a proxy that serves the page below another path. */
export async function ask(path: string, deadline = DEADLINE): Promise<Response> {
    return request(path, AbortSignal.timeout(deadline));
}

async function request(path: string, signal: AbortSignal): Promise<Response> {
    const shown = token.get();
    const response = await fetch(path, {
        headers: shown === "" ? {} : { authorization: `Bearer ${shown}` },
        cache: "no-store",
        signal,
    });
    if (response.ok) return response;
    const problem: unknown = await response.json().catch(() => null);
    const detail = problem !== null && typeof problem === "object" && "detail" in problem ? String(problem.detail) : `the service answered ${response.status}`;
    throw new Refusal(response.status, detail);
}

export async function json<T>(path: string): Promise<T> {
    return (await ask(path)).json() as Promise<T>;
}

export interface Message {
    readonly name: string;
    readonly data: unknown;
}

/** A stream shows at least every 15 seconds that it is there. */
const SILENCE = 40_000;

/** Server-sent events. `EventSource` cannot show a token. `heard` is called whenever something comes, be it only a sign of life. */
export async function* events(path: string, signal: AbortSignal, heard: () => void): AsyncGenerator<Message, void, undefined> {
    const response = await within(request(path, signal), DEADLINE);
    if (response.body === null) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
        for (;;) {
            const { done, value } = await within(reader.read(), SILENCE);
            if (done) return;
            heard();
            rest += value;
            const blocks = rest.split("\n\n");
            rest = blocks.pop() ?? "";
            for (const block of blocks) {
                const field = (name: string): string | undefined => block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
                const [name, data] = [field("event"), field("data")];
                if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
            }
        }
    } finally {
        await reader.cancel().catch(() => undefined);
    }
}

function within<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("the service is silent")), milliseconds);
        promise.then(resolve, reject).finally(() => clearTimeout(timer));
    });
}
