import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import type { Page } from "playwright-core";
import { expect, describe, test } from "vitest";

import { hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { pageShown } from "../../support/console-steps.ts";
import { bearer, httpCall } from "../../support/http-call.ts";
import { ANY_PORTS } from "../../support/operator.ts";
import { runProgram, startProgram, type RunningProgram } from "../../support/program.ts";
import { withResource } from "../../support/with-resource.ts";
import { newFolder } from "../../support/run-folder.ts";

/** The file to which the figures of the last run are written. It is not in git. */
const FIGURES = resolve(import.meta.dirname, "../../../artefacts/first-minute.json");
const SECONDS_MAX = 60;
/** One click at most for each of sign-in, credit, key and call. */
const CLICKS_MAX = 4;

const browser = withBrowser();
const folder = withResource(
  () => Promise.resolve({ path: newFolder("trial") }),
  ({ path }) => Promise.resolve(rmSync(path, { recursive: true, force: true })),
);
const dev = withResource(
  async () => {
    const data = join(folder.path, "data");
    const program = await startProgram(["dev", ...ANY_PORTS, "--data", data, "--log", "json"]);
    return { program, data, printed: await printedBy(program) };
  },
  async ({ program }) => void (await program.end("SIGTERM")),
);

/** Counts the clicks and the time of a person's way to a first successful call. */
class Trial {
  readonly #startedMs = performance.now();
  readonly #words: Record<string, number> = {};
  #clicks = 0;

  async click(page: Page, name: string): Promise<void> {
    const button = page.getByRole("button", { name, exact: true }).first();
    await button.waitFor();
    await this.read(page);
    this.#clicks += 1;
    await button.click();
  }

  /** Counts the words that a person sees on this page, once per path. */
  async read(page: Page): Promise<void> {
    const text = await page.locator("main, body").first().innerText();
    const { pathname } = new URL(page.url());
    this.#words[pathname] ??= text.split(/\s+/).filter(Boolean).length;
  }

  figures() {
    const seconds = (performance.now() - this.#startedMs) / 1_000;
    return { seconds: Number(seconds.toFixed(1)), clicks: this.#clicks, words: this.#words };
  }
}

const measured: Record<string, unknown> = {};

function keep(name: string, figures: ReturnType<Trial["figures"]>): void {
  measured[name] = figures;
  mkdirSync(resolve(FIGURES, ".."), { recursive: true });
  writeFileSync(FIGURES, `${JSON.stringify(measured, null, 2)}\n`);
  process.stderr.write(`first minute, ${name}: ${JSON.stringify(figures)}\n`);
}

describe.skipIf(!hasChromium)("the first minute with dev", () => {
  test("is enough to sign in by the printed link and see the call that the printed key made", async () => {
    const { link, key } = dev.printed;
    const { page, complaints } = await newVisitor(browser);
    const trial = new Trial();
    await page.goto(link);
    await trial.click(page, "Sign in");
    await page.waitForURL(
      (url) => url.origin === new URL(link).origin && !/idp/.test(url.pathname),
    );
    const answer = await httpCall(
      `${String(dev.program.ready["gateway_url"])}/v1/chat/completions`,
      {
        headers: bearer(key),
        body: { model: "sim/both", max_tokens: 64, messages: [{ role: "user", content: "Hello" }] },
      },
    );
    expect(answer.status, answer.text).toBe(200);
    await pageShown(page);
    await trial.read(page);
    const figures = trial.figures();
    keep("operator", figures);
    expect(figures.seconds).toBeLessThan(SECONDS_MAX);
    const id = String(answer.headers["x-request-id"]);
    await page.goto(new URL(`/requests/${id}`, link).href);
    await page.getByText("sim/both").first().waitFor();
    expect(complaints).toEqual([]);
  });

  test("is enough for a customer to sign in, run the curl as shown and save the key, in 4 clicks at most", async () => {
    const made = await runProgram([
      "console-link",
      "--email",
      "new@example.com",
      "--data",
      dev.data,
      "--json",
    ]);
    expect(made.code, made.stderr).toBe(0);
    const { url } = JSON.parse(made.stdout) as { readonly url: string };
    const { page, complaints } = await newVisitor(browser);
    const trial = new Trial();
    await page.goto(url);
    await trial.click(page, "Sign in");
    await page.waitForURL("**/welcome");
    await page.getByText("Waiting for your first request…").waitFor();
    const secret = await page.locator("[data-secret]").innerText();
    const curl = await page.locator("pre").filter({ hasText: "curl" }).first().innerText();
    expect(curl).toContain(secret);
    const { stdout } = await promisify(execFile)("sh", ["-c", curl]);
    expect(JSON.parse(stdout)).toHaveProperty("usage");
    await page.getByText("Your first request succeeded.").waitFor();
    await trial.read(page);
    const figures = trial.figures();
    await expect.poll(() => page.locator("[data-secret]").innerText()).toBe(secret);
    await trial.click(page, "I saved it");
    await page.getByText("This key is not shown again.").waitFor();
    keep("customer", { ...figures, clicks: trial.figures().clicks });
    expect(figures.seconds).toBeLessThan(SECONDS_MAX);
    expect(trial.figures().clicks).toBeLessThanOrEqual(CLICKS_MAX);
    expect(complaints).toEqual([]);
  });
});

/** The link and the key that `dev` prints. */
async function printedBy(
  program: RunningProgram,
): Promise<{ readonly link: string; readonly key: string }> {
  for (;;) {
    const text = program.stdout();
    const [, key] = /key\s+(tm_vk_\w+)/.exec(text) ?? [];
    const [, link] = /^\s+(http\S+\/auth\/link\S+)$/m.exec(text) ?? [];
    if (key !== undefined && link !== undefined) return { key, link };
    await new Promise((done) => setTimeout(done, 50));
  }
}
