// The page. Only `form` and `report` know its elements.

import { element, forgetMistakes, guessFormat, place, task } from "./form.js";
import type { Answer } from "./messages.js";
import { showBusy, showFailure, showIdle, showProgress, showVerdict } from "./report.js";

const form = element("form", HTMLFormElement);
element("off", HTMLElement).hidden = true;

/** The verification in progress. */
let worker: Worker | null = null;

function stop(): void {
    worker?.terminate();
    worker = null;
}

form.addEventListener("submit", (event) => {
    event.preventDefault();
    stop();
    const given = task();
    if (given === null) return showIdle();
    showBusy();
    const started = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    worker = started;
    started.onmessage = ({ data }: MessageEvent<Answer>) => {
        if (data.kind === "key") return showProgress(data.read);
        stop();
        if (data.kind === "verdict") showVerdict(data.verdict, given, data.seconds);
        else showFailure(data.message);
    };
    started.onerror = (event) => {
        event.preventDefault();
        stop();
        showFailure(`The verifier did not start: ${event.message || "its files could not be loaded"}.`);
    };
    started.postMessage(given);
});

/** A verdict never stands beside inputs that it is not about. */
function changed(): void {
    stop();
    showIdle();
}

form.addEventListener("input", (event) => {
    changed();
    if (event.target === element("rows", HTMLInputElement)) guessFormat();
});

form.addEventListener("reset", () => {
    changed();
    forgetMistakes();
});

const withFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

addEventListener("dragover", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
});

addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
});

addEventListener("drop", async (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    changed();
    const unknown = await place([...(event.dataTransfer?.files ?? [])]);
    if (unknown.length > 0) {
        showFailure(`Unknown kind of file: ${unknown.join(", ")}. Choose it in its field, or drop .proof, .csv, .jsonl, .toml and .key files.`);
    }
});
