import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { format } from "prettier";

/**
 * `npm run check:deep` runs what takes too long for every `npm test`: all tests with many fresh
 * seeds, the whole crash matrix and the memory tests; then the simulation and torture commands.
 */
const USAGE = `npm run check:deep -- [options]
  --only NAME   one part: tests, simulation or torture
  --save        write its section of docs/reliability.md when every part has passed
  --json        print one JSON document on standard output`;

const ROOT = resolve(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/reliability.md");
const SECTION = /(?<=<!-- check:deep -->\n)[\s\S]*?(?=<!-- end -->)/;

interface Part {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

interface PartResult {
  readonly name: string;
  readonly command: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly figures: readonly string[];
}

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    save: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const folder = mkdtempSync(join(tmpdir(), "tokenmarket-deep-"));
const report = join(folder, "tests.json");
const REPORTERS = ["default", "./test/support/run-summary.ts", "json"].map(
  (reporter) => `--reporter=${reporter}`,
);
const PARTS: readonly Part[] = [
  {
    name: "tests",
    command: "TM_TEST_DEPTH=deep npm test",
    args: ["test", "--", ...REPORTERS, `--outputFile.json=${report}`],
  },
  {
    name: "simulation",
    command: "npm run sim -- --seeds 1000",
    args: ["run", "sim", "--", "--seeds", "1000", "--from", String(freshSeed())],
  },
  { name: "torture", command: "npm run torture", args: ["run", "torture"] },
];

if (values.help) process.stdout.write(`${USAGE}\n`);
else process.exitCode = await checkDeep();

async function checkDeep(): Promise<number> {
  const chosen = PARTS.filter(({ name }) => values.only === undefined || name === values.only);
  if (chosen.length === 0) {
    process.stderr.write(`check:deep: ${values.only} is not a part\n${USAGE}\n`);
    return 2;
  }
  const results: PartResult[] = [];
  try {
    for (const part of chosen) results.push(await runPart(part));
  } finally {
    rmSync(folder, { recursive: true });
  }
  const ok = results.every((result) => result.ok);
  if (values.json) process.stdout.write(`${JSON.stringify({ ok, parts: results })}\n`);
  else process.stdout.write(`\n${sectionOf(results)}\n`);
  if (values.save && ok && values.only === undefined) await savePage(results);
  return ok ? 0 : 1;
}

/** Runs one part with its output on standard error, so that standard output stays one document. */
async function runPart({ name, command, args }: Part): Promise<PartResult> {
  process.stderr.write(`\n=== ${name}: ${command}\n`);
  const startedMs = performance.now();
  const child = spawn("npm", [...args], {
    cwd: ROOT,
    env: { ...process.env, ...(name === "tests" ? { TM_TEST_DEPTH: "deep" } : {}) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    process.stderr.write(chunk);
  });
  const code = await new Promise<number | null>((done) => child.once("close", done));
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const figures = name === "tests" ? [testFigures()] : linesOf(output);
  return { name, command, ok: code === 0, seconds, figures };
}

function testFigures(): string {
  if (!existsSync(report)) return "it was ended before it wrote its report";
  const run = JSON.parse(readFileSync(report, "utf8")) as Record<string, number>;
  const { numPassedTests, numFailedTests, numPendingTests } = run;
  return `${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`;
}

function linesOf(output: string): readonly string[] {
  const lines = output.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith(">"));
}

function sectionOf(results: readonly PartResult[]): string {
  const machine = `Node ${process.version}, ${cpus().length} cores`;
  const parts = results.map(({ name, command, ok, seconds, figures }) => {
    const head = `**${name}** (\`${command}\`): ${ok ? "passed" : "FAILED"} in ${seconds} s`;
    return `${head}\n\n${figures.map((line) => `- ${line}\n`).join("")}`;
  });
  return `Measured on ${new Date().toISOString().slice(0, 10)} with ${machine}.\n\n${parts.join("\n")}`;
}

async function savePage(results: readonly PartResult[]): Promise<void> {
  const page = readFileSync(PAGE, "utf8").replace(SECTION, () => sectionOf(results));
  writeFileSync(PAGE, await format(page, { parser: "markdown", printWidth: 100 }));
}

function freshSeed(): number {
  return Number(process.hrtime.bigint() % 1_000_000_000n);
}
