// The file of an opening, version 2: docs/formats.md. The verifier says whether it is true; this only shows what it has.

export interface Opening {
    readonly index: bigint;
    readonly height: number;
    /** 64 hexadecimal characters; `null` of an empty slot. */
    readonly value: string | null;
    /** Siblings on the path, bottom up. */
    readonly siblings: readonly string[];
}

const DIGEST = 32;

/** Throws if the bytes are no such file. */
export function parseOpening(bytes: Uint8Array): Opening {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const magic = new TextDecoder().decode(bytes.subarray(0, 4));
    if (magic !== "EVGO" || view.getUint16(4, true) !== 2) throw new Error("the file is no opening of version 2");
    let at = 6;
    const record = (kind: number): number => {
        if (bytes[at] !== kind || bytes[at + 1] !== 1) throw new Error(`the opening has no record ${kind}`);
        const start = at + 6;
        at = start + view.getUint32(at + 2, true);
        return start;
    };
    const hex = (from: number): string => Array.from(bytes.subarray(from, from + DIGEST), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const slot = record(1);
    const path = record(2);
    const height = view.getUint8(slot);
    if (at !== bytes.length || at - path !== height * DIGEST) throw new Error("the opening's path has another length than its height");
    return {
        index: view.getBigUint64(slot + 1, true),
        height,
        value: view.getUint8(slot + 9) === 1 ? hex(slot + 10) : null,
        siblings: Array.from({ length: height }, (_, level) => hex(path + level * DIGEST)),
    };
}
