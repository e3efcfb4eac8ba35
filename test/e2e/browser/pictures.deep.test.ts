import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { hasChromium, newVisitor, showIn, withBrowser } from "../../support/browser.ts";
import { giveCredit, makeKey, pageShown, signIn } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { bearer, httpCall } from "../../support/http-call.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** `TM_PICTURES=write` replaces the pictures that the README and the landing page show. */
const OUT = join(
  ROOT,
  process.env["TM_PICTURES"] === "write" ? "console/public" : "artefacts/screenshots",
);
const PICTURE_BYTES_MAX = 150 * 1024;
const DAY_MS = 86_400_000;
const DAYS = 26;
/** Fewer than a key's requests per minute, because all calls are made within one minute. */
const CALLS = 260;

const keys: Record<string, string> = {};
/** The shipped listings, with the simulator in the place of every provider. */
const manifests = readdirSync(join(ROOT, "manifests"))
  .filter((name) => !name.startsWith("simulator-"))
  .map((name) => {
    const manifest = JSON.parse(readFileSync(join(ROOT, "manifests", name), "utf8")) as {
      readonly endpoint: {
        base_url: string;
        readonly dialect: string;
        readonly api_key_env: string;
      };
    };
    const { endpoint } = manifest;
    endpoint.base_url = `{simulator}/${endpoint.dialect === "wire_b" ? "b" : "a"}/v1`;
    keys[endpoint.api_key_env] = "sk-demo-0123456789";
    return manifest;
  });

let daysBack = 0;
const clock = {
  nowMs: () => Date.now() - Math.round(daysBack * DAY_MS),
  monotonicMs: () => performance.now(),
};
const fixture = withConsole({ manifests, env: keys, clock });
const browser = withBrowser();

/** The models of the calls; each entry is a twelfth of the calls. */
const MODELS = [
  ...Array<string>(4).fill("anthropic/claude-sonnet-5"),
  ...Array<string>(3).fill("google/gemini-3.6-flash"),
  ...Array<string>(2).fill("openai/gpt-5.6-sol"),
  "z-ai/glm-5.2",
  "openai/gpt-oss-120b",
  "moonshotai/kimi-k3",
];

describe.skipIf(!hasChromium)("the two pictures of the README", () => {
  test("are taken of an account with 26 days of calls, and have at most 150 KB each", async () => {
    const { page, ...visitor } = await newVisitor(browser);
    await signIn(fixture, { page, ...visitor }, "maya@acme.example");
    await giveCredit(fixture, page, "100");
    const { secret } = await makeKey(fixture, page, { name: "production", rpm: 300 });
    await makeCalls(secret);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(fixture.consoleUrl);
    await pageShown(page);
    for (const dismiss of await page.getByRole("button", { name: /^(Dismiss|Hide)/ }).all()) {
      await dismiss.click();
    }
    for (const theme of ["light", "dark"] as const) {
      await showIn(page, theme);
      const picture = await webpOf(page);
      expect(picture.length).toBeGreaterThan(10 * 1024);
      expect(picture.length).toBeLessThanOrEqual(PICTURE_BYTES_MAX);
      mkdirSync(OUT, { recursive: true });
      writeFileSync(join(OUT, `overview-${theme}.webp`), picture);
    }
  });
});

/** Makes calls that are dated over the last 26 days, with more of them on later days. */
async function makeCalls(key: string): Promise<void> {
  for (let at = 0; at < CALLS; at += 1) {
    daysBack = DAYS * (1 - at / CALLS) ** 1.6;
    const prompt = "Summarize this paragraph for me, please. ".repeat(40 + ((at * 37) % 90));
    await httpCall(`${fixture.gateway.url}/v1/chat/completions`, {
      headers: bearer(key),
      body: {
        model: MODELS[(at * 7) % MODELS.length],
        max_tokens: 300,
        stream: true,
        messages: [{ role: "user", content: prompt }],
      },
    });
  }
  daysBack = 0;
}

/** Lets the browser convert its screenshot to WebP, which is a third as large. */
async function webpOf(page: Page): Promise<Buffer> {
  const png = (await page.screenshot()).toString("base64");
  const drawer = await page.context().newPage();
  const url = await drawer.evaluate<string>(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${png}";
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.9);
  })()`);
  await drawer.close();
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}
