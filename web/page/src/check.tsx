// Verification of a batch's current proof in the browser.

import { useEffect, useRef, useState } from "preact/hooks";

import { ask, LONG_DEADLINE, Refusal, type Batch } from "./api.ts";
import { against, Basis, Trusted, type Against } from "./trust.tsx";
import { verify, type Answer } from "./verification.ts";
import { Digest, Fact, many } from "./words.tsx";

type Found = Answer & Against & { readonly epoch: string };

/** A new one for each batch: what it has found is about that one alone. */
export function Check({ batch }: { batch: Batch }) {
    const [busy, setBusy] = useState("");
    const [found, setFound] = useState<Found | null>(null);
    const [mistake, setMistake] = useState("");
    const [trusted, setTrusted] = useState("");
    const isThere = useRef(true);
    useEffect(
        () => () => {
            isThere.current = false;
        },
        [],
    );
    const run = async (): Promise<void> => {
        setFound(null);
        setMistake("");
        try {
            setBusy("Reading the proof…");
            const path = `v1/batches/${encodeURIComponent(batch.name)}`;
            const response = await ask(`${path}/proof`, LONG_DEADLINE);
            const [epoch, told] = ["evergrove-epoch", "evergrove-commitment"].map((name) => response.headers.get(name) ?? "");
            const proof = new Uint8Array(await response.arrayBuffer());
            setBusy("Reading the key file, 10 to 20 MB…");
            const key = await keyOf(path);
            setBusy("Verifying…");
            if (!isThere.current) return;
            const basis = against(trusted, told ?? "");
            const answer = await verify({ proof, commitment: basis.commitment, ...(key && { key }) });
            if (isThere.current) setFound({ ...answer, ...basis, epoch: epoch ?? "" });
        } catch (error) {
            if (isThere.current) setMistake(error instanceof Error ? error.message : String(error));
        } finally {
            if (isThere.current) setBusy("");
        }
    };
    return (
        <div class="check">
            <h3>Verify the current proof</h3>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    void run();
                }}
            >
                <Trusted id="trusted" value={trusted} set={setTrusted} />
                <button id="verify" type="submit" class="primary" disabled={busy !== "" || batch.proven === null}>Verify in this browser</button>
            </form>
            <div id="verdict" role="status" data-outcome={busy !== "" ? "busy" : mistake !== "" ? "mistake" : found === null ? "idle" : "failure" in found ? "mistake" : found.verdict.code}>
                {busy}
                {mistake !== "" && <p class="error">{mistake}</p>}
                {found !== null && <Result found={found} />}
            </div>
        </div>
    );
}

/** The key file, `undefined` if the proofs have none that verifiers know. */
async function keyOf(path: string): Promise<Uint8Array | undefined> {
    try {
        return new Uint8Array(await (await ask(`${path}/key`, LONG_DEADLINE)).arrayBuffer());
    } catch (error) {
        if (error instanceof Refusal && error.status === 404) return undefined;
        throw error;
    }
}

function Result({ found }: { found: Found }) {
    if ("failure" in found) return <p class="error">{found.failure}</p>;
    const { verdict, seconds, epoch, commitment, given } = found;
    return (
        <>
            <p class={verdict.accepted ? "accepted" : "refused"}>
                <strong>{verdict.accepted ? "✓ Accepted" : "✗ Not accepted"}</strong>{" "}
                {verdict.accepted ? `The proof is valid for this commitment, after ${seconds.toFixed(2)} s. The service calls its epoch ${epoch}.` : `${verdict.sentence}.`}
            </p>
            <Basis given={given} />
            <dl class="facts wide">
                <Fact name="Profile" value={verdict.profile === null ? "not known" : `${verdict.profile}, backend ${verdict.backend}`} />
                {verdict.bits !== null && <Fact name="Security" value={`${many(Math.floor(verdict.bits.uniqueDecoding), "bit")}, proven`} />}
                {verdict.canonical !== null && <Fact name="Digest that the proof states; which rows is not shown" value={verdict.canonical} />}
            </dl>
            <p><span class="soft">Commitment</span> <Digest text={commitment} /></p>
        </>
    );
}
