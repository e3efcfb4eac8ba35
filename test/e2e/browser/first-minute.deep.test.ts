import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Page } from "playwright-core";
import { expect, describe, test } from "vitest";

import { until } from "../../support/books.ts";
import { hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { bearer, httpCall } from "../../support/http-call.ts";
import { ANY_PORTS } from "../../support/operator.ts";
import { runProgram, startProgram } from "../../support/program.ts";
import { withResource } from "../../support/with-resource.ts";
import { newFolder } from "../../support/run-folder.ts";

const SECONDS_MAX = 60;

const browser = withBrowser();
const folder = withResource(
  () => Promise.resolve({ path: newFolder("trial") }),
  ({ path }) => Promise.resolve(rmSync(path, { recursive: true, force: true })),
);
const dev = withResource(
  async () => {
    const data = join(folder.path, "data");
    const program = await startProgram(["dev", ...ANY_PORTS, "--data", data, "--log", "json"]);
    const printed = await until("dev prints a link and a key", () => {
      const text = program.stdout();
      const [, key] = /key\s+(tm_vk_\w+)/.exec(text) ?? [];
      const [, link] = /^\s+(http\S+\/auth\/link\S+)$/m.exec(text) ?? [];
      return key !== undefined && link !== undefined && { key, link };
    });
    return { program, data, printed };
  },
  async ({ program }) => void (await program.end("SIGTERM")),
);

async function click(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).first().click();
}

function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1_000;
}

describe.skipIf(!hasChromium)("the first minute with dev", () => {
  test("is enough to sign in by the printed link and see the call that the printed key made", async () => {
    const { link, key } = dev.printed;
    const { page, complaints } = await newVisitor(browser);
    const startedMs = performance.now();
    await page.goto(link);
    await click(page, "Sign in");
    await page.waitForURL(({ pathname }) => !pathname.startsWith("/auth/"));
    const answer = await httpCall(
      `${String(dev.program.ready["gateway_url"])}/v1/chat/completions`,
      { headers: bearer(key), body: chatBody("sim/both") },
    );
    expect(answer.status, answer.text).toBe(200);
    const id = String(answer.headers["x-request-id"]);
    await page.goto(new URL(`/requests/${id}`, link).href);
    await page.getByText("sim/both").first().waitFor();
    expect(secondsSince(startedMs)).toBeLessThan(SECONDS_MAX);
    expect(complaints).toEqual([]);
  });

  test("is enough for a customer to sign in, run the curl as shown and save the key, in two clicks", async () => {
    const email = ["--email", "new@example.com"];
    const made = await runProgram(["console-link", ...email, "--data", dev.data, "--json"]);
    expect(made.code, made.stderr).toBe(0);
    const { url } = JSON.parse(made.stdout) as { readonly url: string };
    const { page, complaints } = await newVisitor(browser);
    const startedMs = performance.now();
    await page.goto(url);
    await click(page, "Sign in");
    await page.waitForURL("**/welcome");
    await page.getByText("Waiting for your first request…").waitFor();
    const secret = await page.locator("[data-secret]").innerText();
    const curl = await page.locator("pre").filter({ hasText: "curl" }).first().innerText();
    expect(curl).toContain(secret);
    const { stdout } = await promisify(execFile)("sh", ["-c", curl]);
    expect(JSON.parse(stdout)).toHaveProperty("usage");
    await page.getByText("Your first request succeeded.").waitFor();
    await expect.poll(() => page.locator("[data-secret]").innerText()).toBe(secret);
    await click(page, "I saved it");
    await page.getByText("This key is not shown again.").waitFor();
    expect(secondsSince(startedMs)).toBeLessThan(SECONDS_MAX);
    expect(complaints).toEqual([]);
  });
});
