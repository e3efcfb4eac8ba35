import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

/** `npm run test:flaky` runs tests many times, to find those whose result varies. */
const USAGE = `npm run test:flaky -- [options] [FILE…]
  --runs N         how often the tests run (default 20)
  --load           a busy process for each core beside them
  --project NAME   only this project of vitest.config.ts
  --json           print one JSON document on standard output`;

const ROOT = resolve(import.meta.dirname, "..");
const BUSY = "for (;;) {}";
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

interface Ending {
  readonly status: string;
  readonly message: string;
}

interface Run {
  readonly ok: boolean;
  readonly seconds: number;
  /** By file and test name: how the test ended. Null if the run left no report. */
  readonly endings: ReadonlyMap<string, Ending> | null;
}

const { values, positionals } = parseArgs({
  options: {
    runs: { type: "string", default: "20" },
    load: { type: "boolean", default: false },
    project: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
  allowPositionals: true,
});

if (values.help) process.stdout.write(`${USAGE}\n`);
else process.exitCode = await findFlaky(Number(values.runs));

/** Exits 0 if every test passed in every run, 1 if one did not, and 2 if `--runs` is invalid. */
async function findFlaky(count: number): Promise<number> {
  if (!Number.isSafeInteger(count) || count < 1) {
    process.stderr.write(`test:flaky: --runs takes a whole number from 1\n${USAGE}\n`);
    return 2;
  }
  const load = values.load ? startLoad() : [];
  const runs: Run[] = [];
  try {
    for (let n = 1; n <= count; n += 1) {
      const run = await runTests();
      runs.push(run);
      process.stderr.write(`run ${n} of ${count}: ${run.ok ? "green" : "RED"}, ${run.seconds} s\n`);
      for (const { name } of redTests([run])) process.stderr.write(`  red: ${name}\n`);
    }
  } finally {
    for (const child of load) child.kill("SIGKILL");
  }
  printResult(runs);
  return runs.every((run) => run.ok) ? 0 : 1;
}

function startLoad(): ChildProcess[] {
  return Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", BUSY], { stdio: "ignore" }),
  );
}

async function runTests(): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-flaky-"));
  const report = join(folder, "tests.json");
  const project = values.project === undefined ? [] : ["--project", values.project];
  const startedMs = performance.now();
  const child = spawn(
    process.execPath,
    [
      join(ROOT, "node_modules/vitest/vitest.mjs"),
      "run",
      ...project,
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...positionals,
    ],
    { cwd: ROOT, stdio: ["ignore", "ignore", "pipe"] },
  );
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise<number | null>((done) => child.once("close", done));
  const endings = readEndings(report);
  rmSync(folder, { recursive: true });
  if (endings === null) process.stderr.write(errors);
  return { ok: code === 0, seconds: Math.round((performance.now() - startedMs) / 1_000), endings };
}

function readEndings(report: string): Map<string, Ending> | null {
  let text: string;
  try {
    text = readFileSync(report, "utf8");
  } catch {
    return null;
  }
  const endings = new Map<string, Ending>();
  for (const file of (JSON.parse(text) as Report).testResults) {
    const path = file.name.replace(`${ROOT}/`, "");
    endings.set(`${path} (file)`, { status: file.status, message: file.message });
    for (const { fullName, status, failureMessages } of file.assertionResults) {
      endings.set(`${path} > ${fullName}`, { status, message: failureMessages.join("\n") });
    }
  }
  return endings;
}

function printResult(runs: readonly Run[]): void {
  const reds = runs.filter((run) => !run.ok).length;
  const tests = redTests(runs);
  if (values.json) {
    const seconds = runs.map((run) => run.seconds);
    process.stdout.write(`${JSON.stringify({ runs: runs.length, reds, seconds, tests })}\n`);
    return;
  }
  for (const { name, red, message } of tests) {
    process.stdout.write(`\n${red} of ${runs.length} runs red: ${name}\n${message}\n`);
  }
  process.stdout.write(
    `\n${runs.length} runs, ${reds} red, ${tests.length} tests not always green\n`,
  );
}

/**
 * Each test that failed at least once, most failures first, with the message of its first failure.
 */
function redTests(runs: readonly Run[]): { name: string; red: number; message: string }[] {
  const found = new Map<string, { name: string; red: number; message: string }>();
  for (const [name, { status, message }] of runs.flatMap((run) => [...(run.endings ?? [])])) {
    if (status !== "failed") continue;
    // A file without a message of its own failed only through its tests, which are also listed.
    if (name.endsWith(" (file)") && message === "") continue;
    const entry = found.get(name) ?? { name, red: 0, message };
    entry.red += 1;
    found.set(name, entry);
  }
  return [...found.values()].sort((a, b) => b.red - a.red);
}
