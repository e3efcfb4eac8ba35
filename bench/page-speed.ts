import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { chromium, type Browser, type BrowserContext } from "playwright-core";
import { format } from "prettier";

import { systemClock } from "../src/core/time.ts";
import { TABLE_ROWS, useLongTables, type Interaction } from "./long-tables.ts";
import { markdownTableOf } from "./markdown-table.ts";

/**
 * What the console's pages weigh, and how fast a page with 1,000 rows answers a person. Run:
 * `npm run bench:pages -- [--save]`, with Chromium in CHROME_PATH or as chromium-headless-shell on
 * PATH. `--save` writes docs/page-speed.md.
 */
const { values: flags } = parseArgs({ options: { save: { type: "boolean", default: false } } });
const ROOT = resolve(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/page-speed.md");
const START_MS = 120_000;
const BYTES_GOAL = 160 * 1024;
const ANSWERS_GOAL = 15;
const INTERACTION_GOAL_MS = 100;

interface Weight {
  readonly page: string;
  readonly bytes: number;
  readonly answers: number;
}

const folder = mkdtempSync(join(tmpdir(), "tokenmarket-pages-"));
const program = await startDev();
const browser = await chromium.launch({
  executablePath: process.env["CHROME_PATH"] ?? "/usr/bin/chromium-headless-shell",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
try {
  const signedIn = await browser.newContext();
  const first = await signedIn.newPage();
  await first.goto(program.link);
  await first.getByRole("button", { name: "Sign in" }).click();
  await first.waitForURL((url) => !/^\/(auth|local-idp)\//.test(url.pathname));
  const origin = new URL(first.url()).origin;
  const cookies = await signedIn.storageState();
  const weights = [await weigh(browser, `${origin}/sign-in`)];
  for (const path of ["/", "/models", "/usage", "/keys", "/playground", "/docs"]) {
    weights.push(await weigh(browser, origin + path, cookies));
  }
  const interactions = await useLongTables(signedIn, origin);
  const text = await format(pageText(weights, interactions), { parser: "markdown" });
  process.stdout.write(text);
  if (flags.save) writeFileSync(PAGE, text);
} finally {
  await browser.close();
  program.child.kill("SIGTERM");
  await new Promise((done) => program.child.once("exit", done));
  rmSync(folder, { recursive: true, force: true });
}

async function startDev(): Promise<{ readonly child: ChildProcess; readonly link: string }> {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", "src/cli/main.ts", "dev", "--data", join(folder, "data")],
    {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, PORT: "0", CONSOLE_PORT: "0", INTERNAL_PORT: "0" },
    },
  );
  let said = "";
  const link = await new Promise<string>((found, failed) => {
    const timer = setTimeout(() => failed(new Error(`no link was printed:\n${said}`)), START_MS);
    const read = (chunk: Buffer): void => {
      said += chunk.toString();
      const [address] = /http:\S+\/local-idp\/claim\?\S+/.exec(said) ?? [];
      if (address === undefined) return;
      clearTimeout(timer);
      found(address);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", () => failed(new Error(`the program ended:\n${said}`)));
  });
  return { child, link };
}

/** All answers of a page, as they came over the wire, in a browser that keeps nothing yet. */
async function weigh(
  own: Browser,
  address: string,
  storageState?: Awaited<ReturnType<BrowserContext["storageState"]>>,
): Promise<Weight> {
  const context = await own.newContext(storageState === undefined ? {} : { storageState });
  const page = await context.newPage();
  const sizes: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(address, { waitUntil: "networkidle" });
  const bytes = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0);
  await context.close();
  return { page: new URL(address).pathname, bytes, answers: sizes.length };
}

function pageText(weights: readonly Weight[], interactions: readonly Interaction[]): string {
  const isLight = ({ bytes, answers }: Weight): boolean =>
    bytes <= BYTES_GOAL && answers < ANSWERS_GOAL;
  const isFast = interactions.every(({ longestMs }) => longestMs < INTERACTION_GOAL_MS);
  const kib = (bytes: number): string => (bytes / 1024).toFixed(0);
  return `# Speed of the console's pages

Written by \`npm run bench:pages -- --save\` from what it measured; change it in \`bench/page-speed.ts\`.

Measured on ${new Date(systemClock.nowMs()).toISOString().slice(0, 10)} with Node ${process.versions.node} and Chromium ${browser.version()}
on ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), load average ${(loadavg()[0] ?? 0).toFixed(1)}: a \`dev\` of its own on
loopback, a browser without a cache for each page.

## First load

All answers of a page, data too, as sent (brotli where the browser takes it), to a browser that was never
here. Goal: at most ${BYTES_GOAL / 1024} KB in fewer than ${ANSWERS_GOAL} answers. A later page asks only for what the ones before it did
not bring.

${markdownTableOf(
  ["Page", "KB", "Answers", "Goal"],
  weights.map((weight) => {
    const { page, bytes, answers } = weight;
    return [`\`${page}\``, kib(bytes), `${answers}`, isLight(weight) ? "reached" : "missed"];
  }),
)}

## Interaction with ${TABLE_ROWS.toLocaleString("en")} rows

From a key or click to the frame that shows what it did, by the browser's own Event Timing (rounded to 8 ms by it;
less than 16 ms is not reported). Goal: under ${INTERACTION_GOAL_MS} ms: **${isFast ? "reached" : "missed"}**.

${markdownTableOf(
  ["What", "Median, ms", "Longest, ms"],
  interactions.map(({ what, medianMs, longestMs }) => [what, `${medianMs}`, `${longestMs}`]),
)}
`;
}
