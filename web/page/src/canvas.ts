// Draws a tree of proofs: the final proof on top, below each proof those that it builds on.

import type { State, Tree } from "./tree.ts";

/** How long a proof that has changed stands out, in milliseconds. */
const GLOW = 1200;
/** Narrowest mark of a proof that is not reused, in pixels. */
const MARK = 2;
/** Narrowest proof with a gap beside it, in pixels. */
const GAPPED = 4;

/** The part of the width that is in sight. */
export interface Sight {
    readonly left: number;
    readonly right: number;
}

export const WHOLE: Sight = { left: 0, right: 1 };

export class Picture {
    readonly #canvas: HTMLCanvasElement;
    readonly #base = document.createElement("canvas");
    readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
    #colours: Record<State | "line" | "glow" | "focus", string> = { s: "", p: "", m: "", r: "", line: "", glow: "", focus: "" };
    #tree: Tree | null = null;
    #drawn = "";
    #sight = WHOLE;
    #selected: number | null = null;
    #frame = 0;
    readonly #end = new AbortController();

    constructor(canvas: HTMLCanvasElement) {
        this.#canvas = canvas;
        const redraw = (): void => {
            this.#drawn = "";
            this.#ask();
        };
        const observer = new ResizeObserver(redraw);
        observer.observe(canvas);
        const { signal } = this.#end;
        signal.addEventListener("abort", () => observer.disconnect());
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw, { signal });
    }

    /** Draws no more, and listens to nothing. */
    dispose(): void {
        this.#end.abort();
        cancelAnimationFrame(this.#frame);
    }

    show(tree: Tree, sight: Sight, selected: number | null): void {
        [this.#tree, this.#sight, this.#selected] = [tree, sight, selected];
        this.#ask();
    }

    #ask(): void {
        if (this.#frame === 0 && !this.#end.signal.aborted) this.#frame = requestAnimationFrame((now) => this.#draw(now));
    }

    #draw(now: number): void {
        this.#frame = 0;
        const tree = this.#tree;
        const context = this.#canvas.getContext("2d");
        if (tree === null || context === null) return;
        const scale = devicePixelRatio;
        const [width, height] = [Math.round(this.#canvas.clientWidth * scale), Math.round(this.#canvas.clientHeight * scale)];
        if (width === 0 || height === 0) return;
        const { left, right } = this.#sight;
        const drawn = [tree.batch, tree.structure, tree.version, left, right, width, height].join();
        if (drawn !== this.#drawn) {
            this.#drawn = drawn;
            if (this.#canvas.width !== width || this.#canvas.height !== height) {
                for (const canvas of [this.#canvas, this.#base]) [canvas.width, canvas.height] = [width, height];
            }
            this.#drawBase(tree, width, height);
        }
        context.clearRect(0, 0, width, height);
        context.drawImage(this.#base, 0, 0);
        let lively = false;
        if (!this.#still.matches) {
            context.fillStyle = this.#colours.glow;
            tree.changedAt.forEach((at, place) => {
                const rest = 1 - (now - at) / GLOW;
                if (rest <= 0) return;
                lively = true;
                const box = this.#box(tree, place, width, height);
                if (box === null) return;
                context.globalAlpha = Math.min(1, rest) * 0.75;
                context.fillRect(...box);
            });
            context.globalAlpha = 1;
        }
        const box = this.#selected === null ? null : this.#box(tree, this.#selected, width, height);
        if (box !== null) {
            context.strokeStyle = this.#colours.focus;
            context.lineWidth = 2 * scale;
            const [x, y, w, h] = box;
            context.strokeRect(x - scale, y, Math.max(w, MARK * scale) + 2 * scale, h);
        }
        if (lively) this.#ask();
    }

    /** Everything but what moves. */
    #drawBase(tree: Tree, width: number, height: number): void {
        const context = this.#base.getContext("2d");
        if (context === null) return;
        const style = getComputedStyle(this.#canvas);
        const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
        this.#colours = {
            s: colour("stale"),
            p: colour("proving"),
            m: colour("proven"),
            r: colour("reused"),
            line: colour("card"),
            glow: colour("glow"),
            focus: colour("focus"),
        };
        context.clearRect(0, 0, width, height);
        // What is reused is drawn first: where proofs are narrower than a pixel, the others stay in sight.
        for (const state of ["r", "m", "s", "p"] as const) {
            context.fillStyle = this.#colours[state];
            tree.states.forEach((found, place) => {
                if (found !== state) return;
                const box = this.#box(tree, place, width, height);
                if (box !== null) this.#mark(context, state, box);
            });
        }
    }

    /** States differ by their shape too. */
    #mark(context: CanvasRenderingContext2D, state: State, [x, y, w, h]: [number, number, number, number]): void {
        const scale = devicePixelRatio;
        const wide = w >= 10 * scale;
        if (state === "s" && wide) {
            context.fillRect(x, y, w, h);
            context.fillStyle = this.#colours.line;
            context.fillRect(x + 2 * scale, y + 2 * scale, w - 4 * scale, h - 4 * scale);
            context.fillStyle = this.#colours.s;
        } else if (state === "p" && wide) {
            context.fillRect(x, y, w, h);
            context.fillStyle = this.#colours.line;
            context.fillRect(x + 3 * scale, y + h / 2 - scale, w - 6 * scale, 2 * scale);
            context.fillStyle = this.#colours.p;
        } else if (state === "r") {
            context.fillRect(x, y + Math.floor(h / 3), w, Math.max(1, Math.ceil(h / 3)));
        } else {
            context.fillRect(x, y, Math.max(w, MARK * scale), h);
        }
    }

    /** Where a proof is, `null` if it is out of sight. */
    #box(tree: Tree, place: number, width: number, height: number): [number, number, number, number] | null {
        const node = tree.nodes[place];
        if (node === undefined) return null;
        const { left, right } = this.#sight;
        const [from, to] = [(node.left - left) / (right - left), (node.right - left) / (right - left)];
        if (to <= 0 || from >= 1) return null;
        const row = height / tree.rows.length;
        const [x, end] = [Math.max(0, from) * width, Math.min(1, to) * width];
        const gap = end - x >= GAPPED * devicePixelRatio ? devicePixelRatio : 0;
        const y = Math.round(node.depth * row);
        return [x, y, end - x - gap, Math.max(1, Math.round((node.depth + 1) * row) - y - devicePixelRatio)];
    }

    /** The proof at a point of the canvas, in parts of its width and height. */
    at(x: number, y: number): number | null {
        const tree = this.#tree;
        if (tree === null) return null;
        const { left, right } = this.#sight;
        const part = left + x * (right - left);
        const row = tree.rows[Math.min(tree.rows.length - 1, Math.floor(y * tree.rows.length))] ?? [];
        return row.find((place) => {
            const node = tree.nodes[place];
            return node !== undefined && node.left <= part && part < node.right;
        }) ?? null;
    }
}
