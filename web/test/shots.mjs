// Makes the pictures of docs/serve.md: the page of a real service. CHROMIUM and EVERGROVE name the programs.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { READER, set, start, store, until } from "./service.mjs";

const IMAGES = new URL("../../docs/images/", import.meta.url).pathname;
mkdirSync(IMAGES, { recursive: true });

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

/** Runs `use` on the page of a new service, with a batch of all of its `rows` rows. */
async function picture(rows, options, use) {
    const kept = store(rows, [{ name: "all", indices: `0-${rows - 1}` }]);
    const service = await start(kept);
    const context = await browser.newContext({ ...options, deviceScaleFactor: 1 });
    try {
        const page = await context.newPage();
        await page.addInitScript((token) => sessionStorage.setItem("evergrove-token /", token), READER);
        await page.goto(service.url);
        await page.locator("#about[data-fresh=true]").waitFor();
        await page.locator(".legend").waitFor();
        await use(page, service);
    } finally {
        await context.close();
        await service.stop();
        kept.remove();
    }
}

const shot = (page, name) => page.screenshot({ path: join(IMAGES, name) });

/** Waits until the legend has at least `n` proofs in a state. */
const atLeast = (page, state, n) => until(() => page.locator(`.legend [data-state=${state}]`).getAttribute("data-count"), (count) => Number(count) >= n);

try {
    await picture(2 ** 13, { viewport: { width: 1100, height: 860 }, colorScheme: "light" }, async (page, service) => {
        for (let i = 0; i < 6; i += 1) {
            await service.change(...Array.from({ length: 1 + ((5 * i) % 7) }, (_, n) => set(57 * i + n, i)));
            await page.waitForTimeout(400);
        }
        await page.locator("#about[data-fresh=true]").waitFor();
        await service.change(...Array.from({ length: 48 }, (_, n) => set(170 * n, n)));
        await atLeast(page, "m", 30);
        await shot(page, "page-proving.png");
    });
    await picture(2 ** 12, { viewport: { width: 400, height: 780 }, colorScheme: "light" }, async (page, service) => {
        await service.change(set(77, 1000));
        await page.getByLabel(/^Position/).fill("77");
        await page.getByRole("button", { name: "Show its path" }).click();
        await page.locator("#path .accepted").waitFor();
        await page.locator("#row-title").evaluate((title) => title.scrollIntoView({ block: "start" }));
        await shot(page, "page-phone.png");
    });
    await picture(2 ** 12, { viewport: { width: 1100, height: 620 }, colorScheme: "dark" }, async (page, service) => {
        await service.change(...Array.from({ length: 32 }, (_, n) => set(128 * n, n)));
        await atLeast(page, "m", 20);
        await page.locator("#batch-title").evaluate((title) => title.scrollIntoView({ block: "start" }));
        await shot(page, "page-dark.png");
    });
} finally {
    await browser.close();
}
