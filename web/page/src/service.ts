// The service as the page knows it: follows its events, and asks for what they announce.

import { events, json, Refusal, token, type Epoch, type Progress, type Status, type TreeAnswer } from "./api.ts";
import { Tree } from "./tree.ts";

/** `lost`: what is shown is of the time `since`. `closed`: the service asks for a token. */
export type Link = "connecting" | "live" | "lost" | "closed";

/** At least so long between two questions of the same kind. */
const PACE = 120;
/** Waits before the stream is opened again, in milliseconds: doubled up to the last. */
const RETRY = [500, 8000] as const;
/** The same before a question is asked again that had no answer. */
const REPEAT = [500, 4000] as const;

type Question = "status" | "epochs" | "tree";

export class Service {
    refusal = "";
    status: Status | null = null;
    epochs: readonly Epoch[] = [];
    /** When `epochs` were read. */
    epochsAt = 0;
    tree: Tree | null = null;
    batch: string | null = null;

    readonly #changed: () => void;
    #stream: Link = "connecting";
    #stop = new AbortController();
    #running = false;
    /** When something came last. */
    #heardAt = Date.now();
    /** Questions that have no answer, with the time since when. */
    readonly #failing = new Map<Question, number>();
    readonly #status = this.#paced("status", () => this.#readStatus());
    readonly #epochs = this.#paced("epochs", () => this.#readEpochs());
    readonly #tree = this.#paced("tree", () => this.#readTree());

    constructor(changed: () => void) {
        this.#changed = changed;
        // A tab that nobody sees takes none of the service's streams.
        document.addEventListener("visibilitychange", () => {
            if (!document.hidden || this.#stream === "closed") return;
            this.#stream = "connecting";
            this.#stop.abort();
        });
    }

    /** Live only while the stream is open and every question is answered. */
    get link(): Link {
        return this.#stream === "live" && this.#failing.size > 0 ? "lost" : this.#stream;
    }

    /** When something was known last. */
    get since(): number {
        return this.#stream === "live" ? Math.min(this.#heardAt, ...this.#failing.values()) : this.#heardAt;
    }

    /** Follows another batch. */
    choose(batch: string): void {
        if (batch === this.batch) return;
        this.batch = batch;
        this.tree = null;
        this.#stop.abort();
        this.#changed();
    }

    /** Shows another token, or none. */
    show(text: string): void {
        token.set(text.trim());
        [this.status, this.tree, this.epochs, this.batch] = [null, null, [], null];
        [this.#stream, this.refusal] = ["connecting", ""];
        this.#stop.abort();
        this.#changed();
        if (!this.#running) void this.run();
    }

    /** Follows the service until it asks for a token. */
    async run(): Promise<void> {
        this.#running = true;
        let wait: number = RETRY[0];
        for (;;) {
            await seen();
            this.#stop = new AbortController();
            this.#failing.clear();
            const { signal } = this.#stop;
            try {
                const query = this.batch === null ? "" : `?batch=${encodeURIComponent(this.batch)}`;
                for await (const { name, data } of events(`v1/events${query}`, signal, () => (this.#heardAt = Date.now()))) {
                    wait = RETRY[0];
                    this.#take(name, data);
                }
            } catch (error) {
                if (error instanceof Refusal && (error.status === 401 || error.status === 403)) {
                    this.#stream = "closed";
                    this.refusal = token.get() === "" && error.status === 401 ? "" : error.detail;
                    this.#running = false;
                    this.#changed();
                    return;
                }
            }
            // Another batch or token: at once, and nothing is lost.
            if (signal.aborted) continue;
            // What is left of the stream, where it was silent.
            this.#stop.abort();
            this.#stop = new AbortController();
            this.#stream = "lost";
            this.#changed();
            await new Promise((resolve) => {
                this.#stop.signal.addEventListener("abort", resolve, { once: true });
                setTimeout(resolve, wait);
            });
            wait = Math.min(2 * wait, RETRY[1]);
        }
    }

    #take(name: string, data: unknown): void {
        this.#stream = "live";
        switch (name) {
            case "status":
                this.#set(data as Status);
                void this.#epochs();
                void this.#tree();
                break;
            case "progress":
                if (this.tree?.apply(data as Progress) === false) void this.#tree();
                void this.#status();
                break;
            case "epoch":
                void this.#tree();
                void this.#epochs();
                void this.#status();
                break;
            case "proof":
            case "failure":
                void this.#epochs();
                void this.#status();
                void this.#tree();
                break;
            default:
                void this.#status();
        }
        this.#changed();
    }

    #set(status: Status): void {
        this.status = status;
        if (this.batch === null || !status.batches.some((batch) => batch.name === this.batch)) {
            const [first] = status.batches;
            if (first !== undefined) this.choose(first.name);
        }
    }

    async #readStatus(): Promise<void> {
        const status = await json<Status>("v1/status");
        if (this.#stream === "live") this.#set(status);
        this.#changed();
    }

    async #readEpochs(): Promise<void> {
        this.epochs = await json<Epoch[]>("v1/epochs?limit=256");
        this.epochsAt = Date.now();
        this.#changed();
    }

    async #readTree(): Promise<void> {
        const { batch, tree } = this;
        if (batch === null) return;
        const known = tree === null ? "" : `?structure=${tree.structure}`;
        const answer = await json<TreeAnswer>(`v1/batches/${encodeURIComponent(batch)}/tree${known}`);
        if (batch !== this.batch) return;
        if (answer.nodes === undefined) tree?.update(answer);
        else this.tree = new Tree(answer, answer.nodes, tree);
        this.#changed();
    }

    /** Runs `work` when it is called: not twice at a time, and once more after the last call. Again while it fails and the stream is open. */
    #paced(question: Question, work: () => Promise<void>): () => Promise<void> {
        let [running, again] = [false, false];
        return async () => {
            again = true;
            if (running) return;
            running = true;
            let wait: number = PACE;
            while (again) {
                again = false;
                try {
                    await work();
                    wait = PACE;
                    if (this.#failing.delete(question)) this.#changed();
                } catch (error) {
                    again = this.#stream === "live";
                    wait = wait === PACE ? REPEAT[0] : Math.min(2 * wait, REPEAT[1]);
                    // The stream says what to do about a token that is not valid any more.
                    if (error instanceof Refusal && (error.status === 401 || error.status === 403)) this.#stop.abort();
                    else if (again && !this.#failing.has(question)) this.#failing.set(question, Date.now());
                    this.#changed();
                }
                await new Promise((resolve) => setTimeout(resolve, wait));
            }
            running = false;
        };
    }
}

/** Waits until the tab is seen. */
function seen(): Promise<void> {
    if (!document.hidden) return Promise.resolve();
    return new Promise((resolve) => document.addEventListener("visibilitychange", () => resolve(), { once: true }));
}
