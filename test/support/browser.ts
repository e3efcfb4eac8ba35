import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join, resolve } from "node:path";

import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";

import { isDeep } from "./depth.ts";
import { orReport } from "./or-report.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Pictures of the run, for people to review; not in git. */
const SCREENSHOTS = join(ROOT, "artefacts", "screenshots");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/**
 * Far above what any action takes, because a busy machine is no failure. Waits end as soon as they
 * can.
 */
const ACTION_TIMEOUT_MS = 60_000;
/** Longer than any single wait, so that the wait can report what it waited for. */
const TEST_TIMEOUT_MS = 180_000;

/** Chromium of this machine: `CHROME_PATH`, else from PATH; undefined if there is none. */
export function findChromium(): string | undefined {
  const named = process.env["CHROME_PATH"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  // The headless shell is the same browser without the windows that a test never shows.
  const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const known = names.flatMap((name) => folders.map((folder) => join(folder, name)));
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

/** Without a browser, the tests of the pages are reported and counted as skipped. */
export const hasChromium: boolean = orReport(
  findChromium() !== undefined,
  "tests of the console's pages need chromium (chromium-headless-shell, or CHROME_PATH)",
);

/** The browser of this worker: the first file that needs it starts it, the next ones share it. */
let shared: Promise<Browser> | undefined;

async function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  const browser = await shared;
  if (browser.isConnected()) return browser;
  // The browser crashed in an earlier test.
  shared = launchBrowser();
  return await shared;
}

async function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no chromium on this machine");
  // The runner ends its workers with SIGTERM. An exit in order is what kills the browser and
  // removes its folders; playwright's own handler would only delay the end of the process.
  process.once("SIGTERM", () => process.exit());
  return await chromium.launch({
    executablePath,
    handleSIGTERM: false,
    args: [
      // The sandbox of a container's root user is the container.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // One process for all pages, and one for the browser: each further one costs about half a
      // second.
      "--disable-site-isolation-trials",
      "--renderer-process-limit=1",
      "--in-process-gpu",
    ],
  });
}

export type Theme = "light" | "dark";

/**
 * A walk through pages whose promise another test proves in every run: over HTTP, in the stores, or
 * with fewer clicks. Only a deep run has the walk.
 */
export const deepTest: (name: string, walk: () => Promise<void>) => void = isDeep
  ? test
  : () => undefined;

/** A person's browser with its own cookies and storage. An error of the page fails the test. */
export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Script errors and refused content of the page. */
  readonly complaints: readonly string[];
}

/** The browser of this worker, for the tests of one file. */
export interface TestBrowser {
  /**
   * A person's browser with its own cookies and storage. It is closed at the end of the test that
   * opened it, or of the file if a hook opened it.
   */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
}

/** Registers hooks and timeouts for the file. Call it before the first `describe`. */
export function withBrowser(): TestBrowser {
  vi.setConfig({ testTimeout: TEST_TIMEOUT_MS, hookTimeout: TEST_TIMEOUT_MS });
  const opened: Opened[] = [];
  const emptied: Opened[] = [];
  let openedByHooks = 0;
  const emptyFrom = async (first: number): Promise<void> => {
    const whole = await Promise.all(opened.splice(first).map(emptyContext));
    emptied.push(...whole.filter((each) => each !== undefined));
  };
  beforeEach(() => {
    openedByHooks = opened.length;
  });
  afterEach(() => emptyFrom(openedByHooks));
  afterAll(async () => {
    await emptyFrom(0);
    await Promise.all(emptied.splice(0).map(({ context }) => context.close()));
  });
  return {
    newContext: async (options) => {
      const kind = JSON.stringify(options);
      const at = emptied.findIndex((each) => each.kind === kind);
      const [known] = at === -1 ? [] : emptied.splice(at, 1);
      const taken = known ?? (await openContext(kind, options));
      opened.push(taken);
      return taken.context;
    },
  };
}

interface Opened {
  readonly context: BrowserContext;
  /** The options with which the context was opened; it is reused only for the same ones. */
  readonly kind: string;
  /** The origins that may have stored something in the context. */
  readonly origins: Set<string>;
}

async function openContext(kind: string, options?: BrowserContextOptions): Promise<Opened> {
  const context = await (await sharedBrowser()).newContext(options);
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const origins = new Set<string>();
  context.on("page", (page) => {
    page.on("framenavigated", (frame) => origins.add(new URL(frame.url()).origin));
  });
  return { context, kind, origins };
}

/**
 * Empties a context for the next person. It keeps no page, cookie or stored value, but the scripts
 * of the console: to fetch and compile them takes most of the first load of a page.
 */
async function emptyContext(opened: Opened): Promise<Opened | undefined> {
  const { context, origins } = opened;
  try {
    const page = await context.newPage();
    const others = context.pages().filter((each) => each !== page);
    // An open page would go on polling and drawing.
    await Promise.all(others.map((each) => each.close()));
    await context.clearCookies();
    const session = await context.newCDPSession(page);
    for (const origin of origins) {
      await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    }
    origins.clear();
    await page.close();
    return opened;
  } catch {
    await context.close();
    return undefined;
  }
}

export async function newVisitor(
  browser: TestBrowser,
  options: { readonly theme?: Theme; readonly width?: number } = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    colorScheme: options.theme ?? "light",
    viewport: { width: options.width ?? 1280, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A page handles a refused request, but the browser reports it as an error.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) complaints.push(message.text());
  });
  return { context, page, complaints };
}

/**
 * Fails on a violation of WCAG 2.0 to 2.2, A and AA, in what the page shows now, in its theme. The
 * rules about colours take most of the time, so only a deep run has them.
 */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  const rules = isDeep ? ALL_RULES : { ...ALL_RULES, without: COLOUR_RULES.values };
  expect(await violationsOf(page, rules), what).toEqual([]);
}

export interface AxeRules {
  readonly type: "tag" | "rule";
  readonly values: readonly string[];
  readonly without?: readonly string[];
}

export const ALL_RULES: AxeRules = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
};
/** The rules whose result depends on the colours of a page. */
export const COLOUR_RULES: AxeRules = {
  type: "rule",
  values: ["color-contrast", "link-in-text-block"],
};

export async function violationsOf(page: Page, runOnly: AxeRules): Promise<string[]> {
  // Evaluated by the debugger, which the page's content security policy does not bind.
  const hasAxe = await page.evaluate<boolean>("globalThis.axe !== undefined");
  if (!hasAxe) await page.evaluate(AXE);
  await page.evaluate(UNCHANGING);
  return await page.evaluate(async ({ without = [], ...only }) => {
    const { axe } = globalThis as unknown as { readonly axe: AxeLike };
    const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
    // Nobody reads what passed, and gathering it takes a third of the time.
    const options = { runOnly: only, rules, resultTypes: ["violations"], selectors: false };
    const { violations } = await axe.run(options);
    return violations.map(({ id, nodes }) => {
      const places = nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`);
      return `${id}: ${places.join(" | ")}`;
    });
  }, runOnly);
}

/** The page follows the system's theme until the user has chosen one. */
export async function showIn(page: Page, theme: Theme): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  // A page without scripts has no such attribute; its styles follow the system.
  const names = `html:not([${SCHEME}]), html[${SCHEME}="${theme}"]`;
  await page.locator(names).waitFor({ state: "attached" });
}

const SCHEME = "data-mantine-color-scheme";

/** Nobody reads a colour while it changes from one theme to the other. */
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

/** Fails if anything reaches over the edge of the window once the layout has settled. */
export async function expectFits(page: Page): Promise<void> {
  const over = await page.evaluate<number>(`(async () => {
    const over = ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const { documentElement } = document;
    for (let frames = 0; frames < 60 && over(documentElement) > 0; frames += 1) await frame();
    return over(documentElement);
  })()`);
  expect(over).toBeLessThanOrEqual(0);
}

/** Endless animations. A person who asked for less motion must see none. */
export async function endlessAnimations(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`document.getAnimations()
    .filter(({ effect }) => effect.getTiming().iterations === Infinity)
    .map(({ animationName }) => String(animationName))`);
}

/** Only in a deep run: pictures take an eighth of the page walk's time. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (!isDeep) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

/**
 * Fails if a printed page cuts anything: on A4 and Letter without margins, or on A4 with margins of
 * 10 mm.
 */
export async function expectPrintFits(page: Page): Promise<void> {
  await page.emulateMedia({ media: "print" });
  await expect.poll(() => page.getByRole("button", { name: "Print" }).isVisible()).toBe(false);
  for (const width of [794, 816, 718]) {
    await page.setViewportSize({ width, height: 1_000 });
    expect(await page.evaluate<string[]>(CLIPPED), `${width} px`).toEqual([]);
    const sheet = await page.locator("h1").boundingBox();
    expect(sheet?.x).toBeLessThan(40);
  }
}

/** Boxes that paper cuts: those that would have to scroll, or that reach over the edge. */
const CLIPPED = `[document.documentElement, ...document.querySelectorAll("main, main *")]
  .filter((each) => each.checkVisibility() && getComputedStyle(each).display !== "inline")
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1 || each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => each.outerHTML.slice(0, 120))`;
