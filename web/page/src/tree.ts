// The proofs of a batch, with their states and their places.

import type { Progress, Prover, TreeAnswer, TreeNode } from "./api.ts";

/** `s` stale, `p` being proven, `m` made for this epoch, `r` reused. */
export type State = "s" | "p" | "m" | "r";

export const STATES: readonly State[] = ["s", "p", "m", "r"];

const LETTERS = { stale: "s", proving: "p", proven: "m", reused: "r" } as const;

/** A proof and its place: a part of the width, 0 to 1, in the row of its depth. */
export interface Place extends TreeNode {
    readonly left: number;
    readonly right: number;
    readonly parentAt: number | null;
    readonly children: readonly number[];
}

export class Tree {
    readonly batch: string;
    readonly structure: string;
    /** By number. */
    readonly nodes: readonly Place[];
    /** Places in `nodes` by depth, from left to right. */
    readonly rows: readonly (readonly number[])[];
    readonly proofs: number;
    readonly states: State[];
    /** When each proof changed last, in milliseconds since the page was opened. */
    readonly changedAt: Float64Array;
    /** Who made a proof for this epoch, by number, as far as the service knows a name. */
    readonly workers: Map<number, string>;
    epoch: number;
    prover: Prover;
    secondsLeft: number | null;
    /** Counts changes, for whoever draws. */
    version = 0;
    /** Who counts the changes: another process begins at 0. */
    #process: string;
    #changes: number;
    readonly #places: ReadonlyMap<number, number>;

    /** `before` is the tree that was shown until now. */
    constructor(answer: TreeAnswer, nodes: readonly TreeNode[], before: Tree | null) {
        this.batch = answer.batch;
        this.structure = answer.structure;
        this.proofs = answer.proofs;
        this.epoch = answer.epoch;
        this.prover = answer.prover;
        this.secondsLeft = answer.seconds_left;
        this.#process = answer.process;
        this.#changes = answer.changes;
        this.#places = new Map(nodes.map((node, i) => [node.number, i]));
        [this.nodes, this.rows] = arrange(nodes, this.#places);
        this.states = [...answer.states] as State[];
        this.workers = new Map(answer.workers);
        this.changedAt = new Float64Array(nodes.length).fill(-Infinity);
        if (before?.batch === this.batch) this.version = before.version + 1;
    }

    /** A new answer about the same structure. */
    update(answer: TreeAnswer): void {
        // An event may have come before an older answer of the same process.
        const older = answer.epoch < this.epoch || (answer.epoch === this.epoch && answer.changes < this.#changes);
        if (answer.process === this.#process && older) return;
        this.#process = answer.process;
        [this.epoch, this.prover, this.secondsLeft, this.#changes] = [answer.epoch, answer.prover, answer.seconds_left, answer.changes];
        this.workers.clear();
        answer.workers.forEach(([number, name]) => this.workers.set(number, name));
        [...answer.states].forEach((state, place) => this.#set(place, state as State));
    }

    /** Takes note of an event. False if the tree has to be asked for. */
    apply(progress: Progress): boolean {
        if (progress.batch !== this.batch || progress.process !== this.#process || progress.epoch !== this.epoch || progress.from > this.#changes) return false;
        if (progress.to <= this.#changes) return true;
        this.#changes = progress.to;
        this.secondsLeft = progress.seconds_left;
        progress.workers.forEach(([number, name]) => this.workers.set(number, name));
        for (const [number, state] of progress.proofs) {
            const place = this.#places.get(number);
            if (place !== undefined) this.#set(place, LETTERS[state]);
        }
        return true;
    }

    #set(place: number, state: State): void {
        if (this.states[place] === state) return;
        this.states[place] = state;
        this.changedAt[place] = performance.now();
        this.version += 1;
    }

    count(state: State): number {
        return this.states.reduce((sum, found) => sum + Number(found === state), 0);
    }

    get root(): number {
        return this.nodes.length - 1;
    }
}

/** Each proof is as wide as the proofs without children below it. */
function arrange(nodes: readonly TreeNode[], places: ReadonlyMap<number, number>): [Place[], number[][]] {
    const children: number[][] = nodes.map(() => []);
    const parents = nodes.map((node) => (node.parent === null ? null : (places.get(node.parent) ?? null)));
    parents.forEach((parent, place) => parent !== null && children[parent]?.push(place));
    const width = new Float64Array(nodes.length);
    children.forEach((below, place) => (width[place] = below.length === 0 ? 1 : below.reduce((sum, child) => sum + (width[child] ?? 0), 0)));
    const left = new Float64Array(nodes.length);
    // Parents come after their children.
    for (let place = nodes.length - 1; place >= 0; place -= 1) {
        let at = left[place] ?? 0;
        for (const child of children[place] ?? []) {
            left[child] = at;
            at += width[child] ?? 0;
        }
    }
    const whole = width[nodes.length - 1] ?? 1;
    const rows: number[][] = [];
    const placed = nodes.map((node, place) => {
        (rows[node.depth] ??= []).push(place);
        const [from, wide] = [left[place] ?? 0, width[place] ?? 1];
        return { ...node, left: from / whole, right: (from + wide) / whole, parentAt: parents[place] ?? null, children: children[place] ?? [] };
    });
    return [placed, rows];
}
