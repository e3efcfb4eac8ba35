import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium, type Browser, type BrowserContext } from "playwright-core";
import { useLongTables } from "./long-tables.ts";
import { parseWords, type Context, type Report } from "./program.ts";
import { awaitReady, startProgram } from "../test/support/tethered-program.ts";

export const USAGE: string = `npm run bench -- pages [options]
  What the console's pages weigh, and how fast a page with 1,000 rows answers a person: a \`dev\` of its own,
  and Chromium in CHROME_PATH or as chromium-headless-shell, with an empty cache for each page.
  --only weight,tables`;

const ROOT = resolve(import.meta.dirname, "..");
const PAGES = ["/", "/models", "/usage", "/keys", "/playground", "/docs"];

export async function run(words: readonly string[], { resources, say }: Context): Promise<Report> {
  const { only } = parseWords(words, { only: "weight,tables" });
  const link = await startDev({ resources, say });
  const browser = await chromium.launch({
    executablePath: process.env["CHROME_PATH"] ?? "/usr/bin/chromium-headless-shell",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  resources.defer(() => browser.close());
  const signedIn = await browser.newContext();
  const first = await signedIn.newPage();
  await first.goto(link);
  await first.getByRole("button", { name: "Sign in" }).click();
  await first.waitForURL((url) => !url.pathname.startsWith("/auth/"));
  const { origin } = new URL(first.url());
  const cookies = await signedIn.storageState();
  const weights: string[][] = [];
  if (only.includes("weight")) {
    weights.push(await weigh(browser, `${origin}/sign-in`));
    for (const path of PAGES) weights.push(await weigh(browser, origin + path, cookies));
  }
  const used = only.includes("tables") ? await useLongTables(signedIn, origin) : [];
  return {
    tables: [
      {
        title: "First load: all answers of a page, data too, as sent",
        headings: ["Page", "KB", "Answers"],
        rows: weights,
      },
      {
        title:
          "Tables of 1,000 rows: from a key or click to the frame that shows what it did, by the " +
          "browser's own Event Timing, which rounds to 8 ms and leaves out what takes less than 16",
        headings: ["What", "Median, ms", "Longest, ms"],
        rows: used.map(({ what, medianMs, longestMs }) => [what, `${medianMs}`, `${longestMs}`]),
      },
    ],
    problems: [],
  };
}

async function startDev({ resources }: Context): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-pages-"));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const main = join(ROOT, "src/cli/main.ts");
  const program = await startProgram({
    command: process.execPath,
    args: ["--import", "tsx", main, "dev", "--data", join(folder, "data")],
    logFile: join(folder, "dev.log"),
    env: { PORT: "0", CONSOLE_PORT: "0", INTERNAL_PORT: "0" },
  });
  resources.defer(() => program.stop());
  return await awaitReady(
    program,
    () => /http:\S+\/auth\/link\?\S+(?=\s)/.exec(program.log())?.[0],
  );
}

/** Loads a page with an empty cache. Returns its path, and the KiB and number of its answers. */
async function weigh(
  browser: Browser,
  address: string,
  storageState?: Awaited<ReturnType<BrowserContext["storageState"]>>,
): Promise<string[]> {
  const context = await browser.newContext(storageState === undefined ? {} : { storageState });
  const page = await context.newPage();
  const sizes: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(address, { waitUntil: "networkidle" });
  const bytes = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0);
  await context.close();
  return [`\`${new URL(address).pathname}\``, (bytes / 1024).toFixed(0), `${sizes.length}`];
}
