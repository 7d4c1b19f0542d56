// Tests the page in Chromium with real proofs. CHROMIUM names the program. Pictures are written to target/web/screenshots.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { chromium } from "playwright-core";

import { expectContrast, expectToFit } from "./look.mjs";
import { bundles, changed, load, WEB } from "./proofs.mjs";
import { serve } from "./server.mjs";

const given = load("grove-100");
const other = load("grove-128");
const shots = join(WEB, "screenshots");
mkdirSync(shots, { recursive: true });

const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } };
const csvOf = (text, name = "rows.csv") => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) });

let server, browser;
before(async () => {
    server = await serve(join(WEB, "verify"));
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
});
after(async () => {
    await browser?.close();
    server?.close();
});

/** Runs `use` on a new page. Fails if the browser reports an error or sends a request to another server. */
async function onPage(use, { size = "desktop", colorScheme = "light" } = {}) {
    const touch = size === "phone";
    const context = await browser.newContext({ viewport: SIZES[size], colorScheme, reducedMotion: "reduce", isMobile: touch, hasTouch: touch });
    const page = await context.newPage();
    const problems = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("request", (request) => request.url().startsWith(server.url) || problems.push(`asked for ${request.url()}`));
    try {
        await page.goto(server.url);
        await use(page);
        assert.deepEqual(problems, []);
    } finally {
        await context.close();
    }
}

async function fill(page, { commitment = given.commitment, proof = given.files.proof, rows = given.files.rows, key = given.files.key } = {}) {
    await page.getByLabel("Commitment").fill(commitment);
    await page.getByLabel("Proof", { exact: true }).setInputFiles(proof);
    if (rows !== null) await page.getByLabel("Rows optional").setInputFiles(rows);
    if (key !== null) await page.getByLabel("Key file", { exact: true }).setInputFiles(key);
}

/** Waits for a verdict and returns its headline, which must be visible. */
async function verdict(page) {
    await page.locator("#verdict:not([data-outcome=idle]):not([data-outcome=busy])").waitFor({ timeout: 60_000 });
    const headline = page.getByRole("status").getByRole("strong").or(page.locator("#headline")).first();
    const box = await headline.boundingBox();
    assert.ok(box.y >= 0 && box.y + box.height <= page.viewportSize().height, `the headline is out of sight, at ${box.y}`);
    return headline.textContent();
}

async function verify(page, files) {
    await fill(page, files);
    await page.getByRole("button", { name: "Verify" }).click();
    return verdict(page);
}

describe("the page", () => {
    for (const size of Object.keys(SIZES)) {
        for (const colorScheme of ["light", "dark"]) {
            it(`has room on a ${size}, ${colorScheme}`, () =>
                onPage(
                    async (page) => {
                        const shot = (name) => page.screenshot({ path: join(shots, `${name}-${size}-${colorScheme}.png`), fullPage: true });
                        const look = async (name) => {
                            await expectToFit(page);
                            await expectContrast(page);
                            await page.screenshot({ path: join(shots, `${name}-${size}-${colorScheme}.png`) });
                        };
                        await shot("form");
                        await look("start");
                        assert.equal(await verify(page), "Accepted");
                        await look("accepted");
                        await shot("accepted-whole");
                        assert.equal(await verify(page, { rows: csvOf(changed(given.csv)) }), "Refused");
                        await look("refused");
                        await page.getByRole("button", { name: "Clear" }).click();
                        assert.equal(await verify(page, { key: null }), "No verdict");
                        await look("no-verdict");
                        await page.getByText("More options").click();
                        await page.getByLabel("Trusted digest").fill("ab");
                        await page.getByRole("button", { name: "Verify" }).click();
                        await look("mistake");
                    },
                    { size, colorScheme },
                ));
        }
    }

    it("says what is shown, what is not, and how strong it is", () =>
        onPage(async (page) => {
            assert.equal(await verify(page), "Accepted");
            const area = page.getByRole("region", { name: "Verdict" });
            const text = await area.innerText();
            const [, , root] = given.commitment.split(":");
            const expected = [root, given.keyDigest, "grove-100", "What this shows", "What this does not show", "zero-knowledge", "unique decoding", "Johnson", "conjecture", "have to trust", "Policy", " s in this browser"];
            for (const part of expected) assert.ok(text.includes(part), `${part} is missing`);
            assert.equal(await area.getByRole("table").getByRole("row").count(), 4);
        }));

    it("refuses changed rows in words and with a mark", () =>
        onPage(async (page) => {
            assert.equal(await verify(page, { rows: csvOf(changed(given.csv)) }), "Refused");
            assert.ok(await page.locator(".mark path.refused").isVisible());
            assert.ok(!(await page.locator(".mark path.accepted").isVisible()));
            assert.equal(await page.getByText("What this shows").count(), 0);
            assert.match(await page.getByRole("status").innerText(), /a row was changed, left out or added/);
            assert.match(await page.getByRole("region", { name: "Verdict" }).innerText(), /wrong-rows/);
        }));

    it("asks for a missing key file", () =>
        onPage(async (page) => {
            assert.equal(await verify(page, { key: null }), "No verdict");
            assert.match(await page.locator("#sentence").innerText(), /key file/);
            await page.getByLabel("Key file", { exact: true }).setInputFiles(given.files.key);
            await page.getByRole("button", { name: "Verify" }).click();
            assert.equal(await verdict(page), "Accepted");
        }));

    it("warns without rows", () =>
        onPage(async (page) => {
            assert.equal(await verify(page, { rows: null }), "Accepted");
            assert.match(await page.locator("#sentence").innerText(), /no rows were given/);
        }));

    it("takes a profile by choice alone", () =>
        onPage(async (page) => {
            const files = { commitment: other.commitment, proof: other.files.proof, rows: other.files.rows, key: other.files.key };
            assert.equal(await verify(page, files), "Refused");
            await page.getByText("More options").click();
            await page.getByLabel("Accept the profile").check();
            await page.getByRole("button", { name: "Verify" }).click();
            assert.equal(await verdict(page), "Accepted");
        }));

    it("takes a commitment with line breaks", () =>
        onPage(async (page) => {
            const commitment = given.commitment.replace(/.{20}/g, "$&\n");
            assert.equal(await verify(page, { commitment }), "Accepted");
        }));

    it("drops a verdict when an input changes", () =>
        onPage(async (page) => {
            assert.equal(await verify(page), "Accepted");
            await page.getByLabel("Commitment").press("End");
            await page.keyboard.type("0");
            assert.equal(await page.locator("#verdict").getAttribute("data-outcome"), "idle");
            assert.equal(await page.getByText("Accepted").count(), 0);
        }));

    it("names what is missing, beside its field", () =>
        onPage(async (page) => {
            await page.getByRole("button", { name: "Verify" }).click();
            assert.equal(await page.evaluate(() => document.activeElement.id), "commitment");
            assert.ok(await page.getByText("Paste the commitment.").isVisible());
            assert.ok(await page.getByText("Choose the proof.").isVisible());
            assert.equal(await page.getByLabel("Proof", { exact: true }).getAttribute("aria-invalid"), "true");
            await page.getByRole("button", { name: "Clear" }).click();
            assert.ok(!(await page.getByText("Choose the proof.").isVisible()));
        }));

    it("takes dropped files, each to its field", () =>
        onPage(async (page) => {
            const files = [
                ["night", [...given.proof]],
                ["rows.csv", [...Buffer.from(given.csv)]],
                ["table.toml", []],
                ["grove.key", []],
                ["picture.png", []],
            ];
            const transfer = await page.evaluateHandle((files) => {
                const transfer = new DataTransfer();
                for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
                return transfer;
            }, files);
            await page.dispatchEvent("body", "dragover", { dataTransfer: transfer });
            assert.ok(await page.locator("body.dropping").count());
            await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
            await page.getByText("Unknown kind of file: picture.png").waitFor();
            const names = await page.locator("input[type=file]").evaluateAll((all) => all.map((x) => x.files[0]?.name));
            assert.deepEqual(names, ["table.toml", "night", "rows.csv", "grove.key"]);
        }));

    /** Chooses a bundle in the field of the proof, and waits until the bundle's proof replaces it. */
    const unpack = async (page, file = given.files.bundle) => {
        await page.getByLabel("Proof", { exact: true }).setInputFiles(file);
        await page.waitForFunction(() => document.getElementById("proof").files[0].name.endsWith("evergrove.proof"));
    };

    it("takes a bundle in place of the proof", () =>
        onPage(async (page) => {
            await page.getByLabel("Commitment").fill(given.commitment);
            await unpack(page);
            const names = await page.locator("input[type=file]").evaluateAll((all) => all.map((x) => x.files[0]?.name));
            assert.deepEqual(names, ["schema.toml", "grove-100.tar: evergrove.proof", "rows.csv", "circuits.key"]);
            await page.getByRole("button", { name: "Verify" }).click();
            assert.equal(await verdict(page), "Accepted");
            const text = await page.getByRole("region", { name: "Verdict" }).innerText();
            assert.match(text, /The schema, which came in the bundle: .* Compare its digest/);
            assert.match(text, /Digest of the schema\s+[0-9a-f]{64}/);
            await expectToFit(page);
            await page.screenshot({ path: join(shots, "bundle-whole-desktop-light.png"), fullPage: true });
        }));

    it("verifies a bundle at once", () =>
        onPage(async (page) => {
            assert.equal(await verify(page, { proof: given.files.bundle, rows: null, key: null }), "Accepted");
        }));

    it("keeps no rows of another proof beside a bundle", () =>
        onPage(async (page) => {
            await page.getByLabel("Rows optional").setInputFiles(csvOf("index"));
            const [bytes] = bundles().mutants.filter((x) => x.what === "the proof alone").map((x) => [...x.bytes]);
            const transfer = await page.evaluateHandle((bytes) => {
                const transfer = new DataTransfer();
                transfer.items.add(new File([new Uint8Array(bytes)], "small"));
                return transfer;
            }, bytes);
            await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
            await page.waitForFunction(() => document.getElementById("proof").files[0]?.name === "small: evergrove.proof");
            assert.equal(await page.locator("#rows").evaluate((x) => x.files.length), 0);
        }));

    it("says what is wrong with a damaged bundle", () =>
        onPage(async (page) => {
            const { bytes, error } = bundles().mutants.find((x) => x.what === "a link");
            await page.getByLabel("Commitment").fill(given.commitment);
            await page.getByLabel("Proof", { exact: true }).setInputFiles({ name: "bad.tar", mimeType: "application/x-tar", buffer: Buffer.from(bytes) });
            await page.getByText(`bad.tar: ${error}. Ask for a new bundle.`).waitFor();
            await page.getByRole("button", { name: "Verify" }).click();
            assert.equal(await verdict(page), "No verdict");
            assert.equal(await page.locator("#sentence").innerText(), `bad.tar: ${error}. Ask for a new bundle.`);
        }));

    it("chooses the format of rows by their name", () =>
        onPage(async (page) => {
            const rows = page.getByLabel("Rows optional");
            const format = page.getByLabel("Format of the rows");
            await rows.setInputFiles(csvOf("{}", "rows.jsonl"));
            assert.equal(await format.inputValue(), "jsonl");
            await rows.setInputFiles(csvOf("index", "rows.csv"));
            assert.equal(await format.inputValue(), "csv");
        }));

    it("works by keyboard alone", () =>
        onPage(async (page) => {
            const focused = () => page.evaluate(() => ({ id: document.activeElement.id, outline: getComputedStyle(document.activeElement).outlineStyle }));
            const tabTo = async (id) => {
                for (let steps = 0; steps < 10; steps += 1) {
                    await page.keyboard.press("Tab");
                    const now = await focused();
                    assert.equal(now.outline, "solid", `the focus on ${now.id} is not visible`);
                    if (now.id === id) return;
                }
                assert.fail(`${id} is not reached by Tab`);
            };
            const choose = async (id, file) => {
                await tabTo(id);
                const chooser = page.waitForEvent("filechooser");
                await page.keyboard.press("Space");
                await (await chooser).setFiles(file);
            };
            await tabTo("commitment");
            await page.keyboard.insertText(given.commitment);
            await choose("proof", given.files.proof);
            await choose("rows", given.files.rows);
            await choose("key", given.files.key);
            await page.keyboard.press("Tab");
            await page.keyboard.press("Tab");
            assert.equal(await page.evaluate(() => document.activeElement.textContent), "Verify");
            await page.keyboard.press("Enter");
            assert.equal(await verdict(page), "Accepted");
        }));

    it("has landmarks, labels and one live region", () =>
        onPage(async (page) => {
            for (const role of ["banner", "main", "contentinfo", "form", "status"]) assert.equal(await page.getByRole(role).count(), 1, role);
            assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
            const unlabelled = await page.locator("input, textarea, select").evaluateAll((all) => all.filter((x) => x.labels.length !== 1).map((x) => x.id));
            assert.deepEqual(unlabelled, []);
            const dangling = await page.locator("[aria-describedby]").evaluateAll((all) => all.flatMap((x) => x.getAttribute("aria-describedby").split(" ")).filter((id) => !document.getElementById(id)));
            assert.deepEqual(dangling, []);
        }));

    it("stays responsive while it verifies", () =>
        onPage(async (page) => {
            await fill(page);
            await page.evaluate(() => {
                window.longest = 0;
                let last = performance.now();
                const tick = (now) => {
                    window.longest = Math.max(window.longest, now - last);
                    last = now;
                    requestAnimationFrame(tick);
                };
                requestAnimationFrame(tick);
            });
            await page.getByRole("button", { name: "Verify" }).click();
            await verdict(page);
            const longest = await page.evaluate(() => window.longest);
            assert.ok(longest < 1000, `a frame took ${longest} ms`);
        }));
});

describe("the policy of the page", () => {
    it("runs no other scripts, and asks no other server", async () => {
        const context = await browser.newContext();
        const page = await context.newPage();
        await page.goto(server.url);
        const ran = await page.evaluate(async () => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.head.append(script);
            // In a timer, because the policy does not apply to code that the driver runs itself.
            const evaluated = await new Promise((resolve) => {
                setTimeout(() => {
                    try {
                        resolve(new Function("return true")());
                    } catch {
                        resolve(false);
                    }
                });
            });
            const fetched = await fetch("http://127.0.0.1:9/").then(() => true).catch((e) => String(e));
            return { script: window.ran === true, evaluated, fetched };
        });
        assert.deepEqual([ran.script, ran.evaluated], [false, false]);
        assert.notEqual(ran.fetched, true);
        await context.close();
    });

    it("says why nothing works without scripts", async () => {
        const context = await browser.newContext({ javaScriptEnabled: false });
        const page = await context.newPage();
        await page.goto(server.url);
        assert.ok(await page.getByText("This page needs JavaScript").isVisible());
        await context.close();
    });
});
