// All that this package uses of Node.js's own modules.
declare module "node:fs/promises" {
    export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}
