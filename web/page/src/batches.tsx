// The batches: the proofs of one as a tree, and its verification.

import { useEffect, useRef, useState } from "preact/hooks";

import type { Batch, Status } from "./api.ts";
import { Picture, WHOLE, type Sight } from "./canvas.ts";
import type { Service } from "./service.ts";
import { STATES, type State, type Tree } from "./tree.ts";
import { Check } from "./check.tsx";
import { count, many, seconds } from "./words.tsx";

export const WORDS: Record<State, string> = { s: "stale", p: "being proven", m: "proven for this epoch", r: "reused" };

export function Batches({ service, status }: { service: Service; status: Status }) {
    const batch = status.batches.find((batch) => batch.name === service.batch);
    if (status.batches.length === 0) {
        return (
            <section class="card">
                <h2>Batches</h2>
                <p>The store has no batch yet: <code>evergrove prove</code> makes one.</p>
            </section>
        );
    }
    return (
        <section class="card" aria-labelledby="batch-title">
            <h2 id="batch-title">Batch and its proofs</h2>
            <div class="choices" role="group" aria-label="Batches">
                {status.batches.map(({ name, fresh }) => (
                    <button key={name} type="button" aria-pressed={name === service.batch} onClick={() => service.choose(name)}>
                        {name} <span class={fresh ? "fresh" : "stale"}>{fresh ? "fresh" : "stale"}</span>
                    </button>
                ))}
            </div>
            {batch !== undefined && <About batch={batch} status={status} />}
            {batch !== undefined && service.tree !== null && <Proofs tree={service.tree} />}
            {batch !== undefined && <Check key={batch.name} batch={batch} />}
        </section>
    );
}

function About({ batch, status }: { batch: Batch; status: Status }) {
    const { proven } = batch;
    const now = status.proving?.batch === batch.name ? status.proving : null;
    return (
        <p id="about" data-fresh={String(batch.fresh)} data-proven={proven?.epoch ?? ""}>
            {many(batch.members, "member")}, backend {batch.backend}, profile {batch.profile}.{" "}
            {proven === null ? "Never proven." : `Proven for epoch ${proven.epoch}${batch.fresh ? ", the current one" : `, and the table is in epoch ${status.epoch}`}.`}{" "}
            {now !== null && `${now.proofs_made} of ${many(now.proofs_to_make, "proof")} made for epoch ${now.epoch}.`}
        </p>
    );
}

function Proofs({ tree }: { tree: Tree }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const picture = useRef<Picture | null>(null);
    const [selected, select] = useState<number | null>(null);
    const [sight, setSight] = useState<Sight>(WHOLE);
    const chosen = selected !== null && selected < tree.nodes.length ? selected : null;
    useEffect(() => {
        select(null);
        setSight(WHOLE);
    }, [tree.batch, tree.structure]);
    useEffect(
        () => () => {
            picture.current?.dispose();
            picture.current = null;
        },
        [],
    );
    useEffect(() => {
        if (canvas.current === null) return;
        picture.current ??= new Picture(canvas.current);
        picture.current.show(tree, sight, chosen);
    });
    const counts = STATES.map((state) => [state, tree.count(state)] as const);
    const summary = `${many(tree.proofs, "proof")}: ${counts.filter(([, n]) => n > 0).map(([state, n]) => `${count(n)} ${WORDS[state]}`).join(", ")}`;
    const zoom = (place: number | null): void => {
        const node = place === null ? undefined : tree.nodes[place];
        setSight(node === undefined || node.parentAt === null ? WHOLE : { left: node.left, right: node.right });
    };
    const onKeyDown = (event: KeyboardEvent): void => {
        const next = step(tree, chosen, event.key);
        if (next !== null) {
            select(next);
            const node = tree.nodes[next];
            // What is selected is in sight.
            if (node !== undefined && (node.left < sight.left || node.right > sight.right)) setSight(WHOLE);
        } else if (event.key === "Enter") zoom(chosen);
        else if (event.key === "Escape") zoom(null);
        else return;
        event.preventDefault();
    };
    return (
        <div class="proofs" data-epoch={tree.epoch}>
            <ul class="legend">
                {counts.map(([state, n]) => (
                    <li key={state} data-state={state} data-count={n}>
                        <span class={`swatch ${state}`} aria-hidden="true" /> {count(n)} {WORDS[state]}
                    </li>
                ))}
            </ul>
            <p class="soft" id="left">{left(tree)}</p>
            <div
                class="tree"
                role="group"
                tabIndex={0}
                aria-label="Tree of proofs"
                aria-roledescription="tree of proofs"
                aria-describedby="tree-summary tree-keys selected"
                onKeyDown={onKeyDown}
            >
                <canvas
                    ref={canvas}
                    style={{ height: `${Math.min(28, Math.max(13, 280 / tree.rows.length)) * tree.rows.length}px` }}
                    aria-hidden="true"
                    onClick={({ offsetX, offsetY, currentTarget }) => {
                        const place = picture.current?.at(offsetX / currentTarget.clientWidth, offsetY / currentTarget.clientHeight) ?? null;
                        select(place);
                        if (place !== null && place === chosen) zoom(place);
                    }}
                />
            </div>
            <p id="tree-summary" class="hidden">{summary}</p>
            <p id="tree-keys" class="hint">
                The final proof is on top; below each proof are those that it builds on. Arrow keys select a proof, Enter shows its part alone, Escape shows all.
                {tree.nodes.length < tree.proofs && ` The ${count(tree.nodes.length)} proofs nearest to the final one are shown.`}
            </p>
            <p id="selected" aria-live="polite">{chosen === null ? "No proof is selected." : describe(tree, chosen)}</p>
            {sight !== WHOLE && <button type="button" onClick={() => zoom(null)}>Show all proofs</button>}
            <details>
                <summary>As a table</summary>
                <Levels tree={tree} />
            </details>
        </div>
    );
}

function left(tree: Tree): string {
    const open = tree.count("s") + tree.count("p");
    if (open === 0) return "Nothing is to be proven.";
    const who = tree.prover === "service" ? "by this service" : "by workers";
    const time = tree.secondsLeft === null ? "" : `, some ${seconds(tree.secondsLeft)} left`;
    return `${many(open, "proof")} to make, ${who}${time}.`;
}

function describe(tree: Tree, place: number): string {
    const node = tree.nodes[place];
    const state = tree.states[place];
    if (node === undefined || state === undefined) return "";
    const name = tree.workers.get(node.number);
    const maker = tree.prover === "service" ? " by this service" : name === undefined ? " by a worker" : ` by the worker ${name}`;
    const who = state === "p" || state === "m" ? maker : "";
    const { height, first, members } = node;
    // A caller without a token is not told.
    const about = height === undefined || first === undefined || members === undefined ? "" : ` ${many(members, "member")} in positions ${count(first)} to ${count(first + 2 ** height - 1)}.`;
    return `Proof ${node.number}: ${node.kind}, ${WORDS[state]}${who}.${about}`;
}

/** The proof that an arrow key leads to; `null` of other keys. */
function step(tree: Tree, from: number | null, key: string): number | null {
    if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home"].includes(key)) return null;
    const node = from === null ? undefined : tree.nodes[from];
    if (from === null || node === undefined || key === "Home") return tree.root;
    if (key === "ArrowUp") return node.parentAt ?? from;
    if (key === "ArrowDown") {
        // Towards what is not reused, if there is such a proof below.
        const open = node.children.find((child) => tree.states[child] !== "r");
        return open ?? node.children[0] ?? from;
    }
    const row = tree.rows[node.depth] ?? [];
    const at = row.indexOf(from) + (key === "ArrowLeft" ? -1 : 1);
    return row[at] ?? from;
}

function Levels({ tree }: { tree: Tree }) {
    return (
        <table>
            <caption>Proofs by their distance to the final one</caption>
            <thead>
                <tr>
                    <th scope="col">Distance</th>
                    <th scope="col">Proofs</th>
                    {STATES.map((state) => <th scope="col" key={state}>{WORDS[state]}</th>)}
                </tr>
            </thead>
            <tbody>
                {tree.rows.map((row, depth) => (
                    <tr key={depth}>
                        <th scope="row">{depth}</th>
                        <td>{row.length}</td>
                        {STATES.map((state) => <td key={state}>{row.filter((place) => tree.states[place] === state).length}</td>)}
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
