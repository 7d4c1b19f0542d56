// Words, numbers and small elements that several sections share.

import { useEffect, useState } from "preact/hooks";

export const count = (n: number): string => n.toLocaleString("en");

export const many = (n: number, what: string): string => `${count(n)} ${what}${n === 1 ? "" : "s"}`;

/** A time in words: `0.42 s`, `37 s`, `5 min`, `2 h`. */
export function seconds(s: number): string {
    if (s < 10) return `${s < 1 ? s.toFixed(2) : s.toFixed(1)} s`;
    if (s < 120) return `${Math.round(s)} s`;
    return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

/** The time, again every second while it `runs`. */
export function useClock(runs: boolean): number {
    const [now, setNow] = useState(Date.now());
    useEffect(() => {
        if (!runs) return undefined;
        setNow(Date.now());
        const timer = setInterval(() => setNow(Date.now()), 1000);
        return () => clearInterval(timer);
    }, [runs]);
    return now;
}

export function Fact({ name, value, id }: { name: string; value: string; id?: string }) {
    return (
        <div>
            <dt>{name}</dt>
            <dd id={id}>{value}</dd>
        </div>
    );
}

/** A long text of hexadecimal digits. */
export function Digest({ text, id }: { text: string; id?: string }) {
    return <code class="digest" id={id}>{text}</code>;
}

/** The beginning and the end of one. */
export const short = (text: string): string => (text.length <= 20 ? text : `${text.slice(0, 10)}…${text.slice(-6)}`);
