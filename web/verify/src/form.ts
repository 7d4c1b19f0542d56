// The form: its contents, its mistakes, and dropped files.

import type { Task } from "./messages.js";
import { isBundle, readBundle } from "./verifier/index.js";

export function element<T extends HTMLElement>(id: string, type: new () => T): T {
    const found = document.getElementById(id);
    if (found instanceof type) return found;
    throw new Error(`the page has no ${type.name} ${id}`);
}

const input = (id: string): HTMLInputElement => element(id, HTMLInputElement);
const commitment = element("commitment", HTMLTextAreaElement);
const format = element("format", HTMLSelectElement);

/** The chosen file, or null. */
const file = (id: string): File | null => input(id).files?.[0] ?? null;
const text = (id: string): string => input(id).value.trim();

/** True if the chosen schema came in a bundle. */
let schemaBundled = false;
input("schema").addEventListener("input", () => {
    schemaBundled = false;
});

/** Sentences about mistakes, by the id of the control. */
type Mistakes = Map<string, string>;

/** The task of the form. If it is incomplete, shows the mistakes beside the fields and moves the focus to the first one. */
export function task(): Task | null {
    const mistakes: Mistakes = new Map();
    const proof = file("proof");
    const text = commitment.value.replace(/\s+/g, "");
    if (text === "") mistakes.set("commitment", "Paste the commitment.");
    if (proof === null) mistakes.set("proof", "Choose the proof.");
    const keyDigest = digest(mistakes);
    const application = applicationOf(mistakes);
    show(mistakes);
    if (proof === null || mistakes.size > 0) return null;
    const rows = file("rows");
    const schema = file("schema");
    return {
        commitment: text,
        proof,
        rows: rows && { file: rows, format: format.value === "jsonl" ? "jsonl" : "csv" },
        schema,
        schemaBundled: schema !== null && schemaBundled,
        key: file("key"),
        keyDigest,
        application,
        profiles: input("grove-128").checked ? ["grove-128"] : [],
    };
}

function digest(mistakes: Mistakes): string | null {
    const value = text("key-digest");
    if (value !== "" && !/^[0-9a-f]{64}$/.test(value)) mistakes.set("key-digest", "Expected 64 characters from 0 to 9 and a to f.");
    return value || null;
}

function applicationOf(mistakes: Mistakes): Task["application"] {
    const value = text("application");
    if (value === "") return null;
    const [name, digest] = value.split(":");
    if (!/^[a-z0-9_-]{1,32}:[0-9a-f]{64}$/.test(value)) mistakes.set("application", "Expected a name, a colon and 64 hexadecimal characters.");
    const inputs = text("inputs");
    if (!/^([0-9]{1,20}( *, *[0-9]{1,20})*)?$/.test(inputs)) mistakes.set("inputs", "Expected numbers with commas between them.");
    const outputLength = Number(text("output-length"));
    if (!Number.isInteger(outputLength) || outputLength < 1 || outputLength > 65535) mistakes.set("output-length", "Expected a number from 1 to 65535.");
    if (name === undefined || digest === undefined || mistakes.has("inputs")) return null;
    return { name, digest, inputs: inputs === "" ? null : inputs.split(",").map((x) => BigInt(x.trim())), outputLength };
}

function show(mistakes: Mistakes): void {
    for (const error of document.querySelectorAll<HTMLElement>("form .error")) {
        const id = error.id.replace(/-error$/, "");
        const mistake = mistakes.get(id);
        error.hidden = mistake === undefined;
        error.textContent = mistake ?? "";
        const control = element(id, HTMLElement);
        if (mistake === undefined) control.removeAttribute("aria-invalid");
        else control.setAttribute("aria-invalid", "true");
    }
    const [first] = mistakes.keys();
    if (first === undefined) return;
    element(first, HTMLElement).closest("details")?.setAttribute("open", "");
    element(first, HTMLElement).focus();
}

/** Removes the mistakes that `task` showed. */
export function forgetMistakes(): void {
    show(new Map());
}

/** Chooses the format from the name of the file. */
export function guessFormat(): void {
    const name = file("rows")?.name;
    if (name !== undefined) format.value = /\.(jsonl|ndjson)$/i.test(name) ? "jsonl" : "csv";
}

/**
 * Puts each file, or each file of a bundle, into its field, which depends on the file's name or first bytes. Returns one
 * sentence if something is wrong with a file, or null.
 */
export async function place(files: readonly File[]): Promise<string | null> {
    const unknown: string[] = [];
    for (const dropped of files) {
        const id = await fieldOf(dropped);
        if (id === "bundle") {
            const mistake = await unpack(dropped);
            if (mistake !== null) return mistake;
        } else if (id === null) unknown.push(dropped.name);
        else choose(id, dropped);
    }
    guessFormat();
    if (unknown.length === 0) return null;
    return `Unknown kind of file: ${unknown.join(", ")}. Choose it in its field, or drop .proof, .csv, .jsonl, .toml and .key files or a bundle.`;
}

/** Replaces a bundle in the field of the proof by its files. Returns a sentence if the bundle is damaged, or null. */
export async function unpackChosen(): Promise<string | null> {
    const proof = file("proof");
    return proof !== null && (await isBundle(proof).catch(() => false)) ? unpack(proof) : null;
}

async function unpack(bundle: File): Promise<string | null> {
    try {
        const { proof, rows, schema, key, query } = await readBundle(bundle);
        if (query) return `${bundle.name} holds the answer to a query, and this page verifies rows. Verify it with evergrove query --verify.`;
        choose("proof", new File([proof], `${bundle.name}: ${proof.name}`));
        // Removes rows and schema of an earlier proof.
        choose("rows", rows ? ("csv" in rows ? rows.csv : rows.jsonl) : null);
        choose("schema", schema ?? null);
        schemaBundled = schema !== undefined;
        if (key) choose("key", key);
        guessFormat();
        return null;
    } catch (error) {
        return `${bundle.name}: ${error instanceof Error ? error.message : error}. Ask for a new bundle.`;
    }
}

function choose(id: string, chosen: File | null): void {
    const transfer = new DataTransfer();
    if (chosen !== null) transfer.items.add(chosen);
    input(id).files = transfer.files;
    if (id === "schema") schemaBundled = false;
}

async function fieldOf(dropped: File): Promise<string | null> {
    const ending = /\.([^.]+)$/.exec(dropped.name.toLowerCase())?.[1];
    switch (ending) {
        case "csv":
        case "jsonl":
        case "ndjson":
            return "rows";
        case "toml":
            return "schema";
        case "key":
            return "key";
        default:
            if (await isBundle(dropped).catch(() => false)) return "bundle";
            return ending === "proof" || ["EVGP", "EVGO"].includes(await magic(dropped)) ? "proof" : null;
    }
}

/** The first four bytes. Empty if the file cannot be read, for example a folder. */
const magic = (dropped: File): Promise<string> =>
    dropped
        .slice(0, 4)
        .text()
        .catch(() => "");
