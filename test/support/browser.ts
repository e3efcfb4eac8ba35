import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join, resolve } from "node:path";

import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
  type Request,
} from "playwright-core";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";

import { isDeep } from "./depth.ts";
import { orReport } from "./or-report.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Screenshots of a run, for people to review; they are not in git. */
const SCREENSHOTS = join(ROOT, "artefacts", "screenshots");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Far more than any action takes, so that a busy machine causes no failure. */
const ACTION_TIMEOUT_MS = 60_000;
/** Longer than any single wait, so that the wait fails first and says what it waited for. */
const TEST_TIMEOUT_MS = 180_000;

export function findChromium(): string | undefined {
  const named = process.env["CHROME_PATH"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  // The headless shell is the same browser without windows, which no test shows.
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

export const hasChromium: boolean = orReport(
  findChromium() !== undefined,
  "tests of the console's pages need chromium (chromium-headless-shell, or CHROME_PATH)",
);

/** The browser of this worker. The first file that needs it starts it; later files share it. */
let shared: Promise<Browser> | undefined;

async function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  const browser = await shared;
  if (browser.isConnected()) return browser;
  shared = launchBrowser();
  return await shared;
}

async function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no chromium on this machine");
  // The runner ends its workers with SIGTERM. An ordinary exit kills the browser and removes its
  // folders; playwright's own handler would only delay the end of the process.
  process.once("SIGTERM", () => process.exit());
  return await chromium.launch({
    executablePath,
    handleSIGTERM: false,
    args: [
      // In a container that runs as root, the container itself is the sandbox.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // One process for all pages, because each further one costs about half a second.
      "--disable-site-isolation-trials",
      "--renderer-process-limit=1",
      "--in-process-gpu",
    ],
  });
}

export type Theme = "light" | "dark";

/** Registers a walk that only a deep run takes; another test holds its promise in every run. */
export const deepTest: (name: string, walk: () => Promise<void>) => void = isDeep
  ? test
  : () => undefined;

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: readonly string[];
}

export interface TestBrowser {
  /** Opens a context, as one person has, for the test that opens it, or for the file in a hook. */
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
  /** The options with which it was opened, as JSON; it is reused only for equal options. */
  readonly kind: string;
  readonly origins: Set<string>;
}

async function openContext(kind: string, options?: BrowserContextOptions): Promise<Opened> {
  const context = await (await sharedBrowser()).newContext(options);
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const origins = new Set<string>();
  context.on("page", (page) => {
    page.on("framenavigated", (frame) => origins.add(new URL(frame.url()).origin));
    noteUnanswered(page);
  });
  return { context, kind, origins };
}

const unanswered = new WeakMap<Page, Set<Request>>();

function noteUnanswered(page: Page): void {
  const requests = new Set<Request>();
  unanswered.set(page, requests);
  page.on("request", (request) => {
    if (request.resourceType() === "fetch" && request.method() === "GET") requests.add(request);
  });
  page.on("requestfinished", (request) => requests.delete(request));
  page.on("requestfailed", (request) => requests.delete(request));
}

export function awaitsAnswer(page: Page): boolean {
  return (unanswered.get(page)?.size ?? 0) > 0;
}

/**
 * Removes the pages, cookies and stored values of a context for the next person. It keeps the
 * cached scripts of the console, as fetching and compiling them takes most of a first page load.
 */
async function emptyContext(opened: Opened): Promise<Opened | undefined> {
  const { context, origins } = opened;
  try {
    const page = await context.newPage();
    const others = context.pages().filter((each) => each !== page);
    // An open page would continue to poll and draw.
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
    // The browser reports a refused request as an error, but the page handles it.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** Fails if the page violates WCAG 2.2 AA. Only a deep run checks colors: they take most time. */
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
export const COLOUR_RULES: AxeRules = {
  type: "rule",
  values: ["color-contrast", "link-in-text-block"],
};

export async function violationsOf(page: Page, runOnly: AxeRules): Promise<string[]> {
  // The debugger evaluates this, so the page's content security policy does not prevent it.
  const hasAxe = await page.evaluate<boolean>("globalThis.axe !== undefined");
  if (!hasAxe) await page.evaluate(AXE);
  await page.evaluate(UNCHANGING);
  return await page.evaluate(async ({ without = [], ...only }) => {
    const { axe } = globalThis as unknown as { readonly axe: AxeLike };
    const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
    // No test reads the rules that passed, and gathering them takes a third of the time.
    const options = { runOnly: only, rules, resultTypes: ["violations"], selectors: false };
    const { violations } = await axe.run(options);
    return violations.map(({ id, nodes }) => {
      const places = nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`);
      return `${id}: ${places.join(" | ")}`;
    });
  }, runOnly);
}

/** Shows a page in a theme. The page follows the system's theme until the user chooses one. */
export async function showIn(page: Page, theme: Theme): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  // A page without scripts lacks this attribute; its styles follow the system.
  const names = `html:not([${SCHEME}]), html[${SCHEME}="${theme}"]`;
  await page.locator(names).waitFor({ state: "attached" });
}

const SCHEME = "data-mantine-color-scheme";

/** Waits until no style is in transition, so that no color is measured between two themes. */
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

/** Fails if the page is wider than the window once the layout has settled. */
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

export async function endlessAnimations(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`document.getAnimations()
    .filter(({ effect }) => effect.getTiming().iterations === Infinity)
    .map(({ animationName }) => String(animationName))`);
}

export async function takePicture(page: Page, name: string): Promise<void> {
  if (!isDeep) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

/** Fails if print cuts anything: on A4 or Letter without margins, or on A4 with 10 mm margins. */
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

/** The elements that would be cut on paper: they scroll, or reach over the right edge. */
const CLIPPED = `[document.documentElement, ...document.querySelectorAll("main, main *")]
  .filter((each) => each.checkVisibility() && getComputedStyle(each).display !== "inline")
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1 || each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => each.outerHTML.slice(0, 120))`;
