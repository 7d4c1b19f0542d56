// Runs one verification in the background, so that the page remains responsive.

import type { Answer, Task } from "./messages.js";
import { verify, type Application, type Options } from "./verifier/index.js";

/** Longer files are not read. */
const MAX_FILE = 2 ** 28;

const post = (answer: Answer): void => self.postMessage(answer);

self.onmessage = async (event: MessageEvent<Task>) => {
    try {
        post(await run(event.data));
    } catch (error) {
        post({ kind: "failure", message: error instanceof Error ? error.message : String(error) });
    }
};

async function run(task: Task): Promise<Answer> {
    const proof = await bytes(task.proof);
    const rows = task.rows && { format: task.rows.format, text: await bytes(task.rows.file) };
    const schema = task.schema && (await bytes(task.schema));
    const start = performance.now();
    const options: Options = {
        profiles: task.profiles,
        ...(rows && { rows: rows.format === "csv" ? { csv: rows.text } : { jsonl: rows.text } }),
        ...(rows && schema && { schema }),
        ...(task.key && { key: counted(task.key) }),
        ...(task.keyDigest && { keyDigest: task.keyDigest }),
        ...(task.application && { application: applicationOf(task.application) }),
    };
    const verdict = await verify(proof, task.commitment, options);
    return { kind: "verdict", verdict, seconds: (performance.now() - start) / 1000 };
}

function applicationOf({ inputs, ...rest }: NonNullable<Task["application"]>): Application {
    return inputs === null ? rest : { ...rest, inputs };
}

async function bytes(file: File): Promise<Uint8Array> {
    if (file.size > MAX_FILE) throw new Error(`${file.name} has ${file.size} bytes, more than the limit of ${MAX_FILE}`);
    try {
        return new Uint8Array(await file.arrayBuffer());
    } catch (error) {
        throw unreadable(file, error);
    }
}

/** Reads the file in pieces and posts the progress. */
async function* counted(file: File): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = file.stream().getReader();
    let read = 0;
    let told = 0;
    try {
        for (;;) {
            const { done, value } = await reader.read().catch((error: unknown) => {
                throw unreadable(file, error);
            });
            if (done) return;
            yield value;
            read += value.length;
            if (read - told > file.size / 20) {
                told = read;
                post({ kind: "key", read: read / file.size });
            }
        }
    } finally {
        // A failed stream cannot be cancelled, and its failure has already been reported.
        await reader.cancel().catch(() => undefined);
    }
}

function unreadable(file: File, cause: unknown): Error {
    return new Error(`${file.name} cannot be read. If it has changed since you chose it, choose it again.`, { cause });
}
