// Runs a real `evergrove serve` for tests and pictures of its page. EVERGROVE names the program.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const target = process.env.CARGO_TARGET_DIR ?? new URL("../../target", import.meta.url).pathname;
const PROGRAM = process.env.EVERGROVE ?? join(target, "debug/evergrove");
const SCHEMA = '[[column]]\nname = "name"\ntype = "bytes"\n[[column]]\nname = "amount"\ntype = "unsigned"\n';

export const READER = "reader-0123456789abcdef";
export const WRITER = "writer-0123456789abcdef";

/** The line that sets a row. */
export const set = (index, amount) => JSON.stringify({ set: index, row: { name: `n${amount}`, amount } });

/** A new store with `rows` rows and the proven batches `{ name, indices, backend, profile }`. */
export function store(rows, batches) {
    const folder = mkdtempSync(join(tmpdir(), "evergrove-page-"));
    const run = (...words) => execFileSync(PROGRAM, [...words, "--quiet"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    writeFileSync(join(folder, "t.csv"), `name,amount\n${Array.from({ length: rows }, (_, i) => `n${i},${i}\n`).join("")}`);
    writeFileSync(join(folder, "t.toml"), SCHEMA);
    writeFileSync(join(folder, "tokens"), `read ${READER}\nwrite ${WRITER}\n`);
    run("commit", "--store", "s", "--input", "t.csv", "--schema", "t.toml");
    for (const { name, indices, backend = "native", profile = "paper" } of batches) {
        run("prove", "--store", "s", "--batch", name, "--indices", indices, "--backend", backend, "--profile", profile);
    }
    return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Starts a service for the store in a folder. Returns its address and functions that send requests. */
export async function start({ folder }, flags = [], listen = "127.0.0.1:0") {
    const words = ["serve", "--store", "s", "--listen", listen, "--log", "error", ...flags];
    if (!flags.includes("--no-token")) words.push("--token-file", "tokens");
    const child = spawn(PROGRAM, words, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { value } = await lines.next();
    const url = `${value?.match(/http:\/\/\S+/)?.[0] ?? assertStarted(value)}/`;
    const ask = async (method, path, body) => {
        const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${WRITER}` }, ...(body && { body }) });
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
        return response.json();
    };
    const stop = () =>
        new Promise((resolve) => {
            if (child.exitCode !== null || child.signalCode !== null) return resolve();
            child.once("exit", resolve);
            child.kill("SIGTERM");
        });
    return {
        url,
        address: new URL(url).host,
        status: () => ask("GET", "v1/status"),
        change: (...changes) => ask("POST", "v1/changes", changes.join("\n")),
        stop,
    };
}

function assertStarted(line) {
    throw new Error(`evergrove serve did not start: it printed ${JSON.stringify(line)}`);
}

/** Calls `what` until `is` is true of its result. Returns the result. */
export async function until(what, is, seconds = 60) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
        const found = await what();
        if (is(found)) return found;
        if (Date.now() > end) throw new Error(`not in ${seconds} s, last ${JSON.stringify(found)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}
