// The verdict area.

import { element } from "./form.js";
import type { Task } from "./messages.js";
import { outcome, type Bits, type Verdict } from "./verifier/index.js";

const section = element("verdict", HTMLElement);
const status = element("status", HTMLElement);
const headline = element("headline", HTMLElement);
const sentence = element("sentence", HTMLElement);
const progress = element("progress", HTMLProgressElement);
const details = element("details", HTMLElement);

const idle = [headline.textContent ?? "", sentence.textContent ?? ""] as const;

/** `open` means neither accepted nor refused. */
type State = "idle" | "busy" | "accepted" | "refused" | "open";

function state(now: State, title: string, text: string): void {
    section.dataset["outcome"] = now;
    section.setAttribute("aria-busy", String(now === "busy"));
    headline.textContent = title;
    sentence.textContent = text;
    progress.hidden = now !== "busy";
    details.replaceChildren();
}

export function showIdle(): void {
    if (section.dataset["outcome"] !== "idle") state("idle", ...idle);
}

export function showBusy(): void {
    progress.value = 0;
    state("busy", "Verifying…", "");
}

export function showProgress(read: number): void {
    progress.value = read;
}

export function showFailure(message: string): void {
    state("open", "No verdict", message);
    reveal();
}

/** Scrolls to the verdict unless it is visible. */
function reveal(): void {
    const { top, bottom } = status.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) section.scrollIntoView({ block: "start" });
}

export function showVerdict(verdict: Verdict, task: Task, seconds: number): void {
    switch (outcome(verdict)) {
        case "accepted":
            state("accepted", "Accepted", summary(verdict));
            break;
        case "refused":
            state("refused", "Refused", reason(verdict));
            break;
        case "error":
        case "none":
            state("open", "No verdict", reason(verdict));
    }
    if (verdict.accepted) {
        details.append(
            heading("What this shows"),
            list(verdict.shown),
            heading("What this does not show"),
            list(verdict.notShown),
            heading("What you have to trust"),
            list(trusted(verdict, task)),
            node("p", "The proof is short, not secret: it is not zero-knowledge, and may reveal parts of the rows behind it."),
        );
        if (verdict.bits !== null) details.append(heading("How strong the proof is"), strength(verdict.bits));
    }
    details.append(heading("Details"), facts(verdict, task, seconds));
    reveal();
}

/** Sentences that replace the verifier's, which are about digests and bytes. */
const REASONS: Partial<Record<Verdict["code"], string>> = {
    "wrong-rows": "The rows are not those of the proof: a row was changed, left out or added.",
    "wrong-root": "The proof is about another table, or another state of it, than this commitment.",
    "wrong-key": "The key file is damaged, or is not the one for this proof.",
    "key-missing": "Choose the key file: the proof cannot be checked without it.",
    magic: "The file is neither a proof nor an opening.",
};

const reason = (verdict: Verdict): string => REASONS[verdict.code] ?? sentenceOf(verdict.sentence);

/** The acceptance in one sentence. */
function summary(verdict: Verdict): string {
    if (verdict.rows !== null) return `The proof is valid for the ${many(verdict.rows, "row")} that you gave.`;
    const aboutRows = verdict.scheme === "evergrove1" || verdict.scheme === "evergrove1-selected";
    if (aboutRows) return "The proof is valid, but no rows were given: it does not show which rows it is about.";
    return sentenceOf(verdict.shown.join("; "));
}

/** The inputs that the reader must judge. */
function trusted(verdict: Verdict, task: Task): string[] {
    const out = ["The commitment: the verdict is about the table with this root, and no other."];
    if (verdict.schemaDigest !== null && task.schemaBundled) {
        out.push("The schema, which came in the bundle: with another one, other text has the same proof. Compare its digest, which is among the details, with one from where the commitment is from.");
    } else if (task.rows && task.schema) out.push("The schema: with another one, other text has the same proof. Take it from where the commitment is from.");
    if (task.keyDigest !== null) out.push("The digest of the key file that you gave: the key decides what was proven.");
    if (verdict.application !== null) out.push("The application's name, digest and inputs that you gave.");
    return out;
}

function strength(bits: Bits): HTMLElement {
    const table = document.createElement("table");
    const caption = document.createElement("caption");
    caption.append("Bits of security. With 100 bits, an attacker who computes 2", node("sup", "60"), " hashes succeeds with a chance of about 2", node("sup", "−40"), ". Each line is the bound of another analysis.");
    const head = document.createElement("thead");
    head.append(row(cell("th", "Bits", "col"), cell("th", "Rests on", "col")));
    const body = document.createElement("tbody");
    const regimes: readonly [number, string][] = [
        [bits.uniqueDecoding, "Proven: unique decoding"],
        [bits.johnson, "Proven: up to the Johnson bound"],
        [bits.conjectured, "A conjecture about codes"],
    ];
    for (const [value, how] of regimes) {
        const number = cell("td", value.toFixed(1));
        number.className = "number";
        body.append(row(number, cell("td", how)));
    }
    table.append(caption, head, body);
    return table;
}

function facts(verdict: Verdict, task: Task, seconds: number): HTMLElement {
    const list = document.createElement("dl");
    const add = (name: string, value: string | null, mono = false): void => {
        if (value === null) return;
        const description = node("dd", value);
        if (mono) description.className = "mono";
        list.append(node("dt", name), description);
    };
    if (!verdict.accepted) {
        add("Code", verdict.code, true);
        if (verdict.code in REASONS) add("Reason", sentenceOf(verdict.sentence));
    }
    add("Proof", `${task.proof.name}, ${many(task.proof.size, "byte")}`);
    if (task.rows) add("Rows", `${task.rows.file.name}${verdict.rows === null ? "" : `, ${many(verdict.rows, "row")}`}`);
    if (task.rows && task.schema) add("Schema", task.schema.name);
    if (verdict.output !== null) add("Output", verdict.output.join(", "), true);
    if (verdict.index !== null) add("Slot", `${verdict.index.toLocaleString("en")}${verdict.value === null ? ", empty" : ""}`);
    add("Value", verdict.value, true);
    add("Application", verdict.application, true);
    add("Profile", verdict.profile === null ? null : `${verdict.profile}, backend ${verdict.backend}, scheme ${verdict.scheme}`);
    add("Height", verdict.height === null ? null : `${verdict.height}: up to ${many(2 ** verdict.height, "row")}`);
    add("Root", verdict.root, true);
    add("Digest of the rows", verdict.canonical, true);
    add("Digest of the schema", verdict.schemaDigest, true);
    add("Digest of the key", verdict.keyDigest, true);
    add("Policy", verdict.policy);
    add("Time", `${seconds.toFixed(2)} s in this browser`);
    return list;
}

function node<K extends keyof HTMLElementTagNameMap>(tag: K, text: string): HTMLElementTagNameMap[K] {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
}

const heading = (text: string): HTMLElement => node("h3", text);

function list(items: readonly string[]): HTMLElement {
    const made = document.createElement("ul");
    made.append(...items.map((x) => node("li", capital(x))));
    return made;
}

function row(...cells: HTMLElement[]): HTMLElement {
    const made = document.createElement("tr");
    made.append(...cells);
    return made;
}

function cell(tag: "th" | "td", text: string, scope?: string): HTMLElement {
    const made = node(tag, text);
    if (scope !== undefined) made.setAttribute("scope", scope);
    return made;
}

const many = (n: number, what: string): string => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

/** The module's sentences begin in lower case and have no full stop. */
const sentenceOf = (text: string): string => capital(/[.!?]$/.test(text) ? text : `${text}.`);

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
