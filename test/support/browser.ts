import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join, resolve } from "node:path";

import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { expect } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
/** Pictures of the run, for people to look at; not in git. */
const SCREENSHOTS = join(ROOT, "artefacts", "screenshots");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ACTION_TIMEOUT_MS = 15_000;

/** Chromium of this machine: `CHROME_PATH`, else what stands on PATH; undefined: there is none. */
export function findChromium(): string | undefined {
  const named = process.env["CHROME_PATH"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const known = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return [...(named === undefined ? [] : [named]), ...known].find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The pages' tests need a browser: without one they say so aloud and are counted as skipped. */
export const hasChromium: boolean = findChromium() !== undefined;
if (!hasChromium) {
  process.stderr.write(
    "SKIPPED: tests of the console's pages need chromium (apt-get install chromium, or CHROME_PATH)\n",
  );
}

export async function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no chromium on this machine");
  return await chromium.launch({
    executablePath,
    args: [
      // The sandbox of a container's root user is the container.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export type Theme = "light" | "dark";

/** A person's own browser: own cookies, own storage. Errors of the page are errors of the test. */
export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the page complained of: script errors, refused content. */
  readonly complaints: readonly string[];
}

export async function newVisitor(
  browser: Browser,
  options: { readonly theme?: Theme; readonly width?: number } = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    colorScheme: options.theme ?? "light",
    viewport: { width: options.width ?? 1280, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A refused request is an answer that a page handles; the browser tells of each all the same.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** No violation of WCAG 2.0 to 2.2, A and AA, in what the page shows now. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  // Evaluated by the debugger, which the page's content security policy does not bind.
  await page.evaluate(AXE);
  await page.evaluate(UNCHANGING);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: AxeLike };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const { violations } = await axe.run({ runOnly: { type: "tag", values: tags } });
    return violations.map(({ id, nodes }) => {
      const places = nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`);
      return `${id}: ${places.join(" | ")}`;
    });
  });
  expect(found, what).toEqual([]);
}

/** A colour on its way from one theme to the other is none that anybody reads. */
const UNCHANGING = `(async () => {
  const isChanging = () => document.getAnimations().some((each) => each instanceof CSSTransition);
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let frames = 0; frames < 300; frames += 1) {
    await frame();
    if (!isChanging()) return;
  }
})()`;

interface AxeLike {
  run(options: object): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }[];
  }>;
}

/** Nothing of the page reaches over the edge of the window. */
export async function expectFits(page: Page): Promise<void> {
  const over = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  expect(over).toBeLessThanOrEqual(0);
}

export async function takePicture(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}
