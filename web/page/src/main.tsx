// The page of a service.

import { render } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";

import { token, type Status } from "./api.ts";
import { Batches } from "./batches.tsx";
import { Epochs } from "./epochs.tsx";
import { History } from "./history.tsx";
import { Row } from "./row.tsx";
import { Service } from "./service.ts";
import { count, Digest, Fact, seconds, useClock } from "./words.tsx";

function Page() {
    const [, changed] = useReducer((n: number) => n + 1, 0);
    const service = useMemo(() => new Service(() => changed(undefined)), []);
    useEffect(() => void service.run(), [service]);
    const { status, link } = service;
    const [asked, setAsked] = useState(false);
    const shown = token.get() !== "";
    // The service leaves positions out where it is read without a token.
    const isPublic = !shown && status !== null && status.batches.some(({ first }) => first === undefined);
    return (
        <>
            <a class="skip" href="#main">Skip to the content</a>
            <header>
                <div class="brand"><img src="icon.svg" alt="" width="28" height="28" /> Evergrove</div>
                <div class="line">
                    {link !== "closed" && shown && <button type="button" onClick={() => service.show("")}>Forget the token</button>}
                    {link !== "closed" && isPublic && <button type="button" aria-expanded={asked} onClick={() => setAsked(!asked)}>Use a token</button>}
                    <State service={service} />
                </div>
            </header>
            <main id="main" class={link === "lost" ? "lost" : ""}>
                {(link === "closed" || (asked && isPublic)) && <Token service={service} needed={link === "closed"} done={() => setAsked(false)} />}
                {status !== null && link !== "closed" && (
                    <>
                        <Now status={status} />
                        <Batches service={service} status={status} />
                        <History service={service} />
                        <Epochs epochs={service.epochs} />
                        <Row status={status} />
                    </>
                )}
                {status === null && link !== "closed" && <p class="notice">Asking the service…</p>}
            </main>
            <footer>
                The same as JSON: <a href="openapi.json">openapi.json</a> describes every path. <a href="LICENSES.txt">Licences</a> of what this page is made of.
            </footer>
        </>
    );
}

/** Whether what the page shows is of now. */
function State({ service }: { service: Service }) {
    const { link, since, status } = service;
    const now = useClock(link === "lost");
    const [word, kind] =
        link === "lost"
            ? [`Stale: no answer for ${seconds(Math.max(0, now - since) / 1000)}`, "bad"]
            : link === "closed"
              ? ["Needs a token", "bad"]
              : link === "connecting" || status === null
                ? ["Connecting", "wait"]
                : status.state !== "running"
                  ? ["Stopping", "wait"]
                  : ["Live", "good"];
    return (
        <p id="link" class={`badge ${kind}`} data-link={link} role="status">
            {word}
        </p>
    );
}

function Token({ service, needed, done }: { service: Service; needed: boolean; done: () => void }) {
    const [text, setText] = useState("");
    const mistake = token.mistake(text.trim()) || service.refusal;
    return (
        <section class="card narrow" aria-labelledby="token-title">
            <h1 id="token-title">{needed ? "This service asks for a token" : "A token shows rows and positions too"}</h1>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    if (token.mistake(text.trim()) !== "") return;
                    done();
                    service.show(text);
                }}
            >
                <label for="token">Token for reading</label>
                <input id="token" type="password" autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} aria-describedby="token-hint" />
                <p id="token-hint" class="hint">It stays in this tab until you close it, and is sent to this service alone.</p>
                {mistake !== "" && <p class="error" role="alert">{mistake}</p>}
                <button type="submit" class="primary" disabled={text.trim() === "" || token.mistake(text.trim()) !== ""}>Show the service</button>
            </form>
        </section>
    );
}

function Now({ status }: { status: Status }) {
    const { queue, provers, proving } = status;
    const stale = status.batches.filter((batch) => !batch.fresh).length;
    const oldest = Math.min(...status.batches.map((batch) => batch.proven?.epoch ?? 0));
    const lag = status.batches.length === 0 ? 0 : status.epoch - oldest;
    return (
        <section class="card" aria-labelledby="now">
            <h1 id="now">Now</h1>
            {status.stalled && <p class="error">Stalled: nobody makes proofs. Epochs are committed without theirs.</p>}
            {status.disk_full && <p class="error">The disk of the store is full: no changes are taken.</p>}
            {status.failing.map(({ batch, epoch, cause }) => (
                <p class="error" key={batch}>Batch {batch} could not be proven for epoch {epoch}: {cause}</p>
            ))}
            <dl class="facts">
                <Fact name="Epoch" id="epoch" value={String(status.epoch)} />
                <Fact name="Rows" id="rows" value={count(status.rows)} />
                <Fact name="Batches" id="batches" value={stale === 0 ? `${status.batches.length}, all fresh` : `${status.batches.length}, ${stale} stale`} />
                <Fact name="Lag" id="lag" value={lag === 0 ? "none" : `${count(lag)} epoch${lag === 1 ? "" : "s"}`} />
                <Fact name="Requests waiting" id="queue" value={`${queue.waiting} of ${queue.capacity}`} />
                <Fact name="Workers" id="workers" value={provers.by === "service" ? "this service" : provers.workers === null ? "not known" : count(provers.workers)} />
                <Fact name="Proofs under way" id="running" value={String(provers.running)} />
                <Fact name="Proving" id="proving" value={proving === null ? "nothing" : `${proving.batch}: ${proving.proofs_made} of ${proving.proofs_to_make}`} />
            </dl>
            <p class="commitment">
                <span class="soft">Commitment</span> <Digest id="commitment" text={status.commitment} />
            </p>
        </section>
    );
}

const page = document.getElementById("page");
if (page !== null) {
    page.replaceChildren();
    render(<Page />, page);
}
