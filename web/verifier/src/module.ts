// The exports of the module, and its memory.

type Pointer = number;

/** What the module exports; it imports nothing. */
interface Exports {
    readonly memory: WebAssembly.Memory;
    evg_alloc(length: number): Pointer;
    evg_free(at: Pointer, length: number): void;
    evg_request_new(proof: Pointer, proofLength: number, commitment: Pointer, commitmentLength: number): Pointer;
    evg_request_rows(request: Pointer, format: number, text: Pointer, length: number, schema: Pointer, schemaLength: number): void;
    evg_request_allow_profile(request: Pointer, name: Pointer, length: number): void;
    evg_request_application(
        request: Pointer,
        name: Pointer,
        length: number,
        digest: Pointer,
        inputs: Pointer,
        count: number,
        outputLength: number,
    ): void;
    evg_request_words(request: Pointer, name: Pointer, length: number, digest: Pointer, outputLength: number): void;
    evg_request_key_digest(request: Pointer, digest: Pointer): void;
    evg_request_check(request: Pointer): number;
    evg_request_key(request: Pointer, at: Pointer, length: number): number;
    evg_request_finish(request: Pointer): Pointer;
    evg_verdict_json(verdict: Pointer, length: Pointer): Pointer;
    evg_verdict_free(verdict: Pointer): void;
}

/** Bytes in the module's memory. */
export interface Buffer {
    readonly at: Pointer;
    readonly length: number;
}

/** An instance of the module. Each verification has its own, so that its memory goes when the verification ends. */
export class Instance {
    readonly exports: Exports;

    private constructor(instance: WebAssembly.Instance) {
        this.exports = instance.exports as unknown as Exports;
    }

    static async new(module: WebAssembly.Module): Promise<Instance> {
        return new Instance(await WebAssembly.instantiate(module, {}));
    }

    /** A new buffer with a copy of the bytes. Its address is never null. */
    copy(bytes: Uint8Array): Buffer {
        const buffer = this.alloc(bytes.length);
        this.view(buffer).set(bytes);
        return buffer;
    }

    /** Addresses of 32 bits come as negative numbers from 2^31 on. */
    alloc(length: number): Buffer {
        const at = this.exports.evg_alloc(Math.max(length, 1)) >>> 0;
        if (at === 0) throw new RangeError(`the verifier's memory has no room for ${length} bytes`);
        return { at, length };
    }

    free(buffer: Buffer): void {
        this.exports.evg_free(buffer.at, Math.max(buffer.length, 1));
    }

    /** Valid until the next call of an export: memory that grows leaves older views empty. */
    view(buffer: Buffer): Uint8Array {
        return new Uint8Array(this.exports.memory.buffer, buffer.at, buffer.length);
    }
}
