// Checks of a page's looks, which the tests of all pages share.
import assert from "node:assert/strict";

/** Fails if the page is wider than the window. */
export async function expectToFit(page) {
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window, `the page is ${content} pixels wide, the window ${window}`);
}

/** Fails if the contrast of a text to its background is below 4.5 to 1 (WCAG 2.2, 1.4.3). */
export async function expectContrast(page) {
    const low = await page.evaluate(() => {
        const parse = (color) => color.match(/[\d.]+/g).map(Number);
        const channel = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
        const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
        const behind = (x) => {
            for (; x; x = x.parentElement) {
                const color = parse(getComputedStyle(x).backgroundColor);
                if (color.length === 3 || color[3] === 1) return color;
            }
            return [255, 255, 255];
        };
        const out = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const { parentElement: element, data } = walker.currentNode;
            if (data.trim() === "" || !element.checkVisibility()) continue;
            const pair = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))].sort((a, b) => b - a);
            const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
            if (ratio < 4.5) out.push(`${ratio.toFixed(2)}: ${data.trim()}`);
        }
        return out;
    });
    assert.deepEqual(low, []);
}
