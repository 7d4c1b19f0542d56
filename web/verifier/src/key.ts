// The key file, in pieces.

/** The bytes of a key file. Streams are read as far as the verifier asks. */
export type Key = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** The most bytes that are given to the verifier at a time. */
export const PIECE = 1 << 16;

/** The key's bytes, at most `PIECE` at a time. A piece is a view of the caller's bytes. */
export async function* pieces(key: Key): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks(key)) {
        for (let at = 0; at < chunk.length; at += PIECE) yield chunk.subarray(at, at + PIECE);
    }
}

async function* chunks(key: Key): AsyncGenerator<Uint8Array, void, undefined> {
    if (key instanceof Uint8Array) yield key;
    else if (key instanceof ArrayBuffer) yield new Uint8Array(key);
    else if (key instanceof Blob) yield* read(key.stream());
    else if (key instanceof ReadableStream) yield* read(key);
    else yield* key;
}

// Not every browser has streams that are iterables.
async function* read(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = stream.getReader();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            yield value;
        }
    } finally {
        await reader.cancel();
    }
}
