// Lag and throughput of the last minutes.

import type { Service } from "./service.ts";
import { count, seconds, useClock } from "./words.tsx";

/** What is shown, in seconds. */
const SPAN = 300;
const BINS = 60;
const [WIDTH, HEIGHT] = [300, 80];

interface Point {
    /** Seconds ago. */
    readonly age: number;
    readonly value: number;
    /** The value still grows. */
    readonly open: boolean;
}

export function History({ service }: { service: Service }) {
    const now = useClock(service.link === "live");
    const passed = Math.max(0, now - service.epochsAt) / 1000;
    const recent = service.epochs.flatMap(({ committed, epoch }) => (committed === null ? [] : [{ ...committed, epoch, age: committed.age + passed }])).filter(({ age }) => age < SPAN);
    const lags = recent.map(({ age, proven_after }): Point => ({ age, value: proven_after ?? age, open: proven_after === null }));
    const bins = new Array<number>(BINS).fill(0);
    for (const { age, set, deleted } of recent) {
        const bin = Math.floor((age / SPAN) * BINS);
        bins[bin] = (bins[bin] ?? 0) + ((set + deleted) * BINS) / SPAN;
    }
    const rates = bins.map((value, bin): Point => ({ age: (bin + 0.5) * (SPAN / BINS), value, open: false }));
    return (
        <section class="card" aria-labelledby="history-title">
            <h2 id="history-title">Lag and throughput, last 5 minutes</h2>
            <div class="charts">
                <Chart id="lags" name="Seconds from a commit to its last proof" points={lags} text={seconds} />
                <Chart id="rates" name="Rows changed a second" points={rates} text={(n) => count(Math.round(10 * n) / 10)} />
            </div>
            {service.epochs.length > 0 && recent.length === 0 && <p class="hint">This service has committed no epoch in the last 5 minutes.</p>}
        </section>
    );
}

function Chart({ id, name, points, text }: { id: string; name: string; points: readonly Point[]; text: (value: number) => string }) {
    const most = Math.max(...points.map(({ value }) => value), 0);
    const bar = Math.max(2, WIDTH / BINS - 1.5);
    return (
        <figure>
            <figcaption>
                {name}
                <span class="soft"> at most {text(most)}</span>
            </figcaption>
            <svg id={id} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${name}: ${describe(points, text)}`}>
                {points.map(({ age, value, open }, i) => {
                    const height = most === 0 ? 0 : (value / most) * (HEIGHT - 4);
                    return <rect key={i} class={open ? "open" : ""} x={WIDTH * (1 - age / SPAN) - bar / 2} y={HEIGHT - height} width={bar} height={height} />;
                })}
            </svg>
            <div class="axis" aria-hidden="true"><span>5 min ago</span><span>now</span></div>
        </figure>
    );
}

function describe(points: readonly Point[], text: (value: number) => string): string {
    const values = points.map(({ value }) => value).filter((value) => value > 0);
    if (values.length === 0) return "nothing yet";
    const [newest] = points;
    return `from ${text(Math.min(...values))} to ${text(Math.max(...values))}, ${text(newest?.value ?? 0)} now`;
}

