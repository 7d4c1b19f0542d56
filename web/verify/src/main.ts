// The page. Only `form` and `report` know its elements.

import { element, forgetMistakes, guessFormat, place, task, unpackChosen } from "./form.js";
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

/** Waits until files are in their fields. Returns false and shows the mistake if a file has no field or is a damaged bundle. */
async function placed(work: Promise<string | null>): Promise<boolean> {
    const mistake = await work;
    if (mistake !== null) showFailure(mistake);
    return mistake === null;
}

form.addEventListener("submit", async (event) => {
    event.preventDefault();
    stop();
    if (!(await placed(unpackChosen()))) return;
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

/** Removes the verdict, which must never be shown with other inputs. */
function changed(): void {
    stop();
    showIdle();
}

form.addEventListener("input", (event) => {
    changed();
    if (event.target === element("rows", HTMLInputElement)) guessFormat();
    if (event.target === element("proof", HTMLInputElement)) void placed(unpackChosen());
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
    await placed(place([...(event.dataTransfer?.files ?? [])]));
});
