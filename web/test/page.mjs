// Tests the page of `evergrove serve` in Chromium with a real service. CHROMIUM and EVERGROVE name the programs.
// web/test/shots.mjs makes the pictures of the documents with the same steps.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { chromium } from "playwright-core";

import { expectContrast, expectToFit } from "./look.mjs";
import { READER, set, start, store, until } from "./service.mjs";

const ROOT = new URL("../../", import.meta.url).pathname;
/** Rows of the small table, whose batch has 64 proofs. */
const ROWS = 4096;
/** Rows of the large table, whose batch has 4,096 proofs. */
const MANY = 2 ** 18;

let browser, small;
before(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
    small = store(ROWS, [
        { name: "all", indices: `0-${ROWS - 1}` },
        { name: "few", indices: "0-99" },
    ]);
});
after(async () => {
    await browser?.close();
    small?.remove();
});

/** Runs `use` on the page of a service. Fails if the browser reports an error or sends a request to another server. */
async function onPage(service, use, { width = 1280, height = 900, colorScheme = "light", token = READER, expected = /$^/ } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme });
    const page = await context.newPage();
    const problems = [];
    const report = (text) => expected.test(text) || problems.push(text);
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && report(message.text()));
    page.on("pageerror", (error) => report(String(error)));
    page.on("request", (request) => request.url().startsWith(service.url) || report(`asked for ${request.url()}`));
    await page.addInitScript((token) => token !== null && sessionStorage.setItem("evergrove-token /", token), token);
    try {
        await page.goto(service.url);
        await use(page);
        assert.deepEqual(problems, []);
    } finally {
        await context.close();
    }
}

/** Runs `use` with a service of the store, and stops the service. */
async function withService(store, flags, use) {
    const service = await start(store, flags);
    try {
        await use(service);
    } finally {
        await service.stop();
    }
}

/** The state that the page shows, with the field names of `/v1/status`. */
const shown = (page) =>
    page.evaluate(() => {
        const text = (id) => document.getElementById(id)?.textContent ?? null;
        const batches = [...document.querySelectorAll(".choices button")].map((button) => button.textContent);
        const about = document.getElementById("about");
        return {
            link: document.getElementById("link")?.dataset.link,
            epoch: Number(text("epoch")),
            rows: Number(text("rows")?.replaceAll(",", "")),
            commitment: text("commitment"),
            queue: text("queue"),
            running: Number(text("running")),
            proving: text("proving"),
            batches,
            fresh: about?.dataset.fresh === "true",
            proven: Number(about?.dataset.proven),
        };
    });

/** The same fields of an answer of `/v1/status`. */
const stated = (status, batch = "all") => {
    const of = status.batches.find(({ name }) => name === batch);
    const { proving, queue } = status;
    return {
        link: "live",
        epoch: status.epoch,
        rows: status.rows,
        commitment: status.commitment,
        queue: `${queue.waiting} of ${queue.capacity}`,
        running: status.provers.running,
        proving: proving === null ? "nothing" : `${proving.batch}: ${proving.proofs_made} of ${proving.proofs_to_make}`,
        batches: status.batches.map(({ name, fresh }) => `${name} ${fresh ? "fresh" : "stale"}`),
        fresh: of.fresh,
        proven: of.proven.epoch,
    };
};

/** The legend's number of proofs in each state. */
const counts = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll(".legend li")].map((li) => [li.dataset.state, Number(li.dataset.count)])));

/** Waits until the page shows a fresh batch and its tree. */
async function isFresh(page) {
    await until(() => shown(page), (now) => now.link === "live" && now.fresh);
    await page.locator(".legend").waitFor();
}

describe("the bundle", () => {
    it("is what its sources give", () => {
        const folder = mkdtempSync(join(tmpdir(), "evergrove-bundle-"));
        try {
            execFileSync("scripts/build-page.sh", [folder], { cwd: ROOT });
            const committed = join(ROOT, "crates/serve/page");
            assert.deepEqual(readdirSync(folder).sort(), readdirSync(committed).sort());
            for (const file of readdirSync(folder)) {
                const [made, kept] = [folder, committed].map((place) => readFileSync(join(place, file)));
                assert.ok(made.equals(kept), `crates/serve/page/${file} is not what its sources give: run make web`);
            }
        } finally {
            rmSync(folder, { recursive: true });
        }
    });
});

describe("the page", () => {
    it("shows a change rippling to fresh without reload, and what status says at every step", () =>
        withService(small, [], (service) =>
            onPage(service, async (page) => {
                await isFresh(page);
                assert.deepEqual(await counts(page), { s: 0, p: 0, m: 0, r: 64 });
                await page.evaluate(() => (window.loaded = true));
                // All answers that the page has read, and all states that it has drawn, in order.
                const answers = [];
                page.on("response", async (response) => {
                    if (response.url().endsWith("/v1/status")) answers.push(await response.json());
                });
                await page.evaluate(() => {
                    window.seen = [];
                    const look = () => {
                        const legend = Object.fromEntries([...document.querySelectorAll(".legend li")].map((li) => [li.dataset.state, Number(li.dataset.count)]));
                        const epoch = Number(document.getElementById("epoch").textContent);
                        const last = window.seen.at(-1);
                        if (JSON.stringify(last) !== JSON.stringify({ epoch, legend })) window.seen.push({ epoch, legend });
                    };
                    new MutationObserver(look).observe(document.getElementById("page"), { subtree: true, childList: true, characterData: true, attributes: true });
                });
                // One change, many changes, and one change again.
                for (const changes of [[5], Array.from({ length: 32 }, (_, i) => 128 * i), [4095]]) {
                    const { epoch, commitment } = await service.change(...changes.map((index) => set(index, 1000 + index)));
                    let last;
                    // The page must show a status that is the same before and after reading the page.
                    await until(
                        async () => {
                            const before = stated(await service.status());
                            const page_ = await shown(page);
                            const after = stated(await service.status());
                            return { before, page_, after };
                        },
                        ({ before, page_, after }) => {
                            last = page_;
                            const [a, b, c] = [before, page_, after].map((x) => JSON.stringify(x));
                            return a === c && a === b && page_.fresh && page_.epoch === epoch;
                        },
                    );
                    assert.equal(last.commitment, commitment);
                    const path = await until(() => counts(page), ({ s, p }) => s + p === 0);
                    // One change: a bucket, the merges above it, the wrap. Changes in all buckets: all 64 proofs.
                    assert.equal(path.m, changes.length === 1 ? 7 : 64, JSON.stringify(path));
                    assert.equal(path.m + path.r, 64);
                }
                assert.ok(await page.evaluate(() => window.loaded), "the page was loaded again");
                const seen = await page.evaluate(() => window.seen);
                // Within an epoch, the number of made proofs only grows.
                for (const [before, after] of seen.slice(1).map((now, i) => [seen[i], now])) {
                    if (before.epoch === after.epoch && before.legend.m + before.legend.r === 64) continue;
                    if (before.epoch === after.epoch) assert.ok(after.legend.m >= before.legend.m || after.legend.s > before.legend.s, JSON.stringify([before, after]));
                }
                assert.ok(answers.length >= 3);
                // Epochs, their commitments and their changes.
                const rows = page.locator("#epochs tbody tr");
                assert.ok((await rows.count()) >= 4);
                assert.equal(await rows.first().getAttribute("data-epoch"), String((await service.status()).epoch));
                await rows.first().getByRole("button").click();
                await page.locator("#changes", { hasText: "positions 4,095" }).waitFor();
                assert.ok((await page.locator("#lags rect").count()) >= 3);
            }),
        ));

    it("shows a stopped service as stale, and the next one as live", async () => {
        let service = await start(small);
        try {
            await onPage(
                service,
                async (page) => {
                    await isFresh(page);
                    const { address } = service;
                    await service.stop();
                    await page.locator("#link[data-link=lost]").waitFor();
                    assert.match(await page.locator("#link").innerText(), /^Stale: no answer for /);
                    assert.ok(await page.locator("main.lost").count());
                    service = await start(small, [], address);
                    await page.locator("#link[data-link=live]").waitFor({ timeout: 20_000 });
                    await isFresh(page);
                    assert.deepEqual(await shown(page), stated(await service.status()));
                    // The next process counts changes from 0 again, and the tree must follow them.
                    for (const index of [5, 4095]) {
                        const { epoch } = await service.change(set(index, 7000 + index));
                        await until(() => shown(page), (now) => now.fresh && now.epoch === epoch);
                        await until(() => counts(page), ({ s, p, m, r }) => s + p === 0 && m === 7 && r === 57);
                    }
                },
                { expected: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET/ },
            );
        } finally {
            await service.stop();
        }
    });

    it("is not live while a question has no answer, and asks it again", () =>
        withService(small, [], (service) =>
            onPage(
                service,
                async (page) => {
                    await isFresh(page);
                    await page.route("**/v1/batches/**", (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body: "{}" }));
                    const { epoch } = await service.change(set(5, 9001));
                    await page.locator("#link[data-link=lost]").waitFor();
                    await until(() => shown(page), (now) => now.epoch === epoch);
                    await page.unroute("**/v1/batches/**");
                    await page.locator("#link[data-link=live]").waitFor();
                    await until(() => counts(page), ({ s, p, m }) => s + p === 0 && m === 7);
                },
                { expected: /500/ },
            ),
        ));

    it("holds no stream in a tab that nobody sees", () =>
        withService(small, [], (service) =>
            onPage(service, async (page) => {
                const hide = (hidden) =>
                    page.evaluate((value) => {
                        Object.defineProperty(document, "hidden", { value, configurable: true });
                        document.dispatchEvent(new Event("visibilitychange"));
                    }, hidden);
                const streams = async () => Number((await (await fetch(`${service.url}metrics`)).text()).match(/^evergrove_streams (\d+)$/m)?.[1]);
                await isFresh(page);
                assert.equal(await streams(), 1);
                await hide(true);
                await until(streams, (open) => open === 0);
                const { epoch } = await service.change(set(5, 55));
                await until(service.status, ({ batches }) => batches[0].fresh);
                assert.ok((await shown(page)).epoch < epoch);
                await hide(false);
                await until(() => shown(page), (now) => now.link === "live" && now.fresh && now.epoch === epoch);
                assert.equal(await streams(), 1);
            }),
        ));

    it("asks for a token, keeps it in the tab, and needs none for public reading", async () => {
        await withService(small, [], (service) =>
            onPage(
                service,
                async (page) => {
                    await page.getByLabel("Token for reading").fill("another-token-0123");
                    await page.keyboard.press("Enter");
                    await page.getByRole("alert").waitFor();
                    await page.getByLabel("Token for reading").fill("reader-0123456789äbcdef");
                    await page.getByRole("alert").filter({ hasText: "ASCII" }).waitFor();
                    assert.ok(await page.getByRole("button", { name: "Show the service" }).isDisabled());
                    await page.getByLabel("Token for reading").fill(READER);
                    await page.getByRole("button", { name: "Show the service" }).click();
                    await isFresh(page);
                    const kept = await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie]);
                    assert.deepEqual(kept, [1, 0, ""]);
                    assert.ok(!page.url().includes(READER));
                    await page.getByRole("button", { name: "Forget the token" }).click();
                    await page.getByLabel("Token for reading").waitFor();
                    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
                    assert.equal(await page.locator("#commitment").count(), 0);
                },
                { token: null, expected: /401/ },
            ),
        );
        await withService(small, ["--public-read"], (service) =>
            onPage(
                service,
                async (page) => {
                    await isFresh(page);
                    await page.getByLabel("Position, 0 to 4,095").fill("3");
                    await page.getByRole("button", { name: "Show its path" }).click();
                    await page.locator("#path .error", { hasText: "Bearer" }).waitFor();
                    await page.locator(".tree").focus();
                    await page.keyboard.press("ArrowDown");
                    assert.match(await page.locator("#selected").innerText(), /^Proof 63: wrap, reused\.$/);
                    await page.getByRole("button", { name: "Use a token" }).click();
                    await page.getByLabel("Token for reading").fill(READER);
                    await page.keyboard.press("Enter");
                    await page.getByRole("button", { name: "Forget the token" }).waitFor();
                    await isFresh(page);
                    await page.getByLabel("Position, 0 to 4,095").fill("3");
                    await page.getByRole("button", { name: "Show its path" }).click();
                    await page.locator("#path .accepted", { hasText: "Position 3" }).waitFor({ timeout: 30_000 });
                },
                { token: null, expected: /401/ },
            ),
        );
        await withService(small, ["--no-token"], (service) => onPage(service, isFresh, { token: null }));
    });

    it("shows a row's path and verifies it", () =>
        withService(small, [], (service) =>
            onPage(service, async (page) => {
                await isFresh(page);
                await page.getByLabel("Position, 0 to 4,095").fill("77");
                await page.getByRole("button", { name: "Show its path" }).click();
                await page.locator("#path .accepted", { hasText: "Position 77" }).waitFor({ timeout: 30_000 });
                assert.match(await page.locator("#path").innerText(), /in the epoch that the service calls \d+\./);
                assert.match(await page.locator("#path").innerText(), /The commitment came from the service too.*This page and its verifier are the service's own/s);
                assert.equal(await page.locator("#path li").count(), 14);
                const [, , root] = (await service.status()).commitment.split(":");
                assert.ok((await page.locator("#path li").first().innerText()).includes(root));
                // A proof is refused for another commitment and for another row.
                await page.locator("#trusted-row").fill((await service.status()).commitment.replace(/.$/, (c) => (c === "0" ? "1" : "0")));
                await page.getByRole("button", { name: "Show its path" }).click();
                await page.locator("#path .refused").waitFor({ timeout: 30_000 });
                assert.doesNotMatch(await page.locator("#path").innerText(), /came from the service too/);
                await page.locator("#trusted-row").fill("");
                await page.route("**/v1/openings/77", async (route) => route.fulfill({ response: await route.fetch({ url: `${service.url}v1/openings/78` }) }));
                await page.getByRole("button", { name: "Show its path" }).click();
                await page.locator("#path .error", { hasText: "the service answered with position 78, asked for 77" }).waitFor();
            }),
        ));

    it("says that verifiers accept no proofs of the native backend", () =>
        withService(small, [], (service) =>
            onPage(
                service,
                async (page) => {
                    await isFresh(page);
                    await page.getByRole("button", { name: "Verify in this browser" }).click();
                    await page.locator("#verdict[data-outcome=unsupported-backend]").waitFor({ timeout: 30_000 });
                    assert.match(await page.locator("#verdict").innerText(), /Not accepted/);
                },
                // The native backend has no key file.
                { expected: /404/ },
            ),
        ));

    it("verifies a proof of grove, and refuses another commitment", async () => {
        const grove = store(64, [{ name: "some", indices: "0-7", backend: "grove", profile: "grove-100" }]);
        try {
            await withService(grove, ["--public-read"], (service) =>
                onPage(
                    service,
                    async (page) => {
                        await isFresh(page);
                        await page.getByRole("button", { name: "Verify in this browser" }).click();
                        await page.locator("#verdict .accepted").waitFor({ timeout: 120_000 });
                        const text = await page.locator("#verdict").innerText();
                        assert.match(text, /Accepted The proof is valid for this commitment/);
                        assert.match(text, /The service calls its epoch 1\./);
                        assert.match(text, /This page and its verifier are the service's own/);
                        assert.match(text, /which rows is not shown/);
                        assert.ok(text.includes((await service.status()).commitment));
                        assert.match(text, /The commitment came from the service too/);
                        const other = (await service.status()).commitment.replace(/.$/, (c) => (c === "0" ? "1" : "0"));
                        await page.locator("#trusted").fill(other);
                        await page.getByRole("button", { name: "Verify in this browser" }).click();
                        await page.locator("#verdict[data-outcome=wrong-root]").waitFor({ timeout: 30_000 });
                    },
                    { token: null },
                ),
            );
        } finally {
            grove.remove();
        }
    });

    it("works by keyboard alone", () =>
        withService(small, [], (service) =>
            onPage(service, async (page) => {
                await isFresh(page);
                for (let steps = 0; ; steps += 1) {
                    assert.ok(steps < 12, "the tree is not reached by Tab");
                    await page.keyboard.press("Tab");
                    if (await page.evaluate(() => document.activeElement.classList.contains("tree"))) break;
                }
                assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "solid");
                const selected = () => page.locator("#selected").innerText();
                await page.keyboard.press("ArrowDown");
                assert.match(await selected(), /^Proof 63: wrap, /);
                await page.keyboard.press("ArrowDown");
                assert.match(await selected(), /^Proof 62: merge, .* positions 0 to 4,095\.$/);
                await page.keyboard.press("ArrowDown");
                const first = await selected();
                await page.keyboard.press("ArrowRight");
                assert.notEqual(await selected(), first);
                await page.keyboard.press("Enter");
                assert.ok(await page.getByRole("button", { name: "Show all proofs" }).isVisible());
                await page.keyboard.press("Escape");
                assert.ok(!(await page.getByRole("button", { name: "Show all proofs" }).isVisible()));
                await page.keyboard.press("ArrowUp");
                assert.match(await selected(), /^Proof 62: merge/);
                // The text for people who cannot see the picture.
                assert.match(await page.locator("#tree-summary").textContent(), /^64 proofs: /);
                await page.getByText("As a table").press("Enter");
                assert.equal(await page.getByRole("table", { name: "Proofs by their distance" }).getByRole("row").count(), 8);
            }),
        ));

    for (const colorScheme of ["light", "dark"]) {
        it(`fits 400 pixels and can be read, ${colorScheme}`, () =>
            withService(small, [], (service) =>
                onPage(
                    service,
                    async (page) => {
                        await isFresh(page);
                        await expectToFit(page);
                        await expectContrast(page);
                    },
                    { width: 400, height: 800, colorScheme },
                ),
            ));
    }

    it("stays smooth with 4,096 proofs", async (t) => {
        // 120 of each 128 rows: a proof of the backend `native` holds its rows, and all of them would be too large to store.
        const indices = Array.from({ length: MANY / 128 }, (_, i) => `${128 * i}-${128 * i + 119}`).join(",");
        const large = store(MANY, [{ name: "all", indices }]);
        try {
            await withService(large, [], (service) =>
                onPage(service, async (page) => {
                    await isFresh(page);
                    assert.deepEqual(await until(() => counts(page), ({ r }) => r > 0), { s: 0, p: 0, m: 0, r: 4096 });
                    await page.evaluate(() => {
                        window.frames = [];
                        let last = performance.now();
                        const frame = (now) => {
                            window.frames.push(now - last);
                            last = now;
                            window.timer = requestAnimationFrame(frame);
                        };
                        requestAnimationFrame(frame);
                    });
                    // A change in every eighth bucket: about 256 buckets, and most of the merges above them.
                    await service.change(...Array.from({ length: 256 }, (_, i) => set(1024 * i, 7 + i)));
                    const { epoch } = await service.status();
                    await until(() => shown(page), (now) => now.fresh && now.epoch === epoch, 180);
                    const path = await until(() => counts(page), ({ s, p }) => s + p === 0);
                    assert.ok(path.m >= 512, JSON.stringify(path));
                    const frames = (await page.evaluate(() => window.frames)).sort((a, b) => a - b);
                    const at = (part) => frames[Math.min(frames.length - 1, Math.floor(part * frames.length))];
                    t.diagnostic(`${frames.length} frames: median ${at(0.5).toFixed(1)} ms, 95% ${at(0.95).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms`);
                    assert.ok(frames.length > 20, `only ${frames.length} frames`);
                    assert.ok(at(0.5) < 34, `the median frame takes ${at(0.5)} ms`);
                    assert.ok(at(0.95) < 100, `one frame in 20 takes more than ${at(0.95)} ms`);
                }),
            );
        } finally {
            large.remove();
        }
    });
});
