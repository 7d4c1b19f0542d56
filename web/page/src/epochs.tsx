// Commitments by epoch, and what each epoch has changed.

import { useEffect, useState } from "preact/hooks";

import { json, type ChangeSet, type Epoch } from "./api.ts";
import { count, Digest, seconds } from "./words.tsx";

/** Epochs that are shown at first. */
const FEW = 8;

export function Epochs({ epochs }: { epochs: readonly Epoch[] }) {
    const [all, setAll] = useState(false);
    const [open, setOpen] = useState<number | null>(null);
    const shown = all ? epochs : epochs.slice(0, FEW);
    return (
        <section class="card" aria-labelledby="epochs-title">
            <h2 id="epochs-title">Epochs</h2>
            <div class="scroll" tabIndex={0} role="region" aria-labelledby="epochs-title">
                <table id="epochs">
                    <thead>
                        <tr>
                            <th scope="col">Epoch</th>
                            <th scope="col">Rows</th>
                            <th scope="col">Set, deleted</th>
                            <th scope="col">Proven after</th>
                            <th scope="col">Changes</th>
                            <th scope="col">Commitment</th>
                        </tr>
                    </thead>
                    <tbody>
                        {shown.map(({ epoch, commitment, rows, committed }) => (
                            <tr key={epoch} data-epoch={epoch}>
                                <th scope="row">{epoch}</th>
                                <td>{count(rows)}</td>
                                <td>{committed === null ? "not known" : `${count(committed.set)}, ${count(committed.deleted)}`}</td>
                                <td>{committed === null ? "not known" : committed.proven_after === null ? "not yet" : seconds(committed.proven_after)}</td>
                                <td>
                                    {epoch > 1 && (
                                        <button type="button" aria-expanded={open === epoch} onClick={() => setOpen(open === epoch ? null : epoch)}>
                                            {open === epoch ? "Hide" : "Show"}<span class="hidden"> the changes of epoch {epoch}</span>
                                        </button>
                                    )}
                                </td>
                                <td><Digest text={commitment} /></td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {open !== null && <Changes key={open} epoch={open} />}
            {epochs.length > FEW && <button type="button" onClick={() => setAll(!all)}>{all ? "Show fewer" : `Show ${epochs.length}`}</button>}
        </section>
    );
}

function Changes({ epoch }: { epoch: number }) {
    const [text, setText] = useState<string | null>(null);
    useEffect(() => {
        json<ChangeSet>(`v1/epochs/${epoch}/changes`).then(
            ({ positions, more }) => setText(positions.length === 0 ? "it has changed no rows." : `positions ${positions.map(count).join(" · ")}${more ? " and more" : ""}`),
            (error: unknown) => setText(error instanceof Error ? error.message : String(error)),
        );
    }, [epoch]);
    return <p id="changes" role="status">Epoch {epoch}: {text ?? "asking…"}</p>;
}
