import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { systemClock } from "../src/core/time.ts";
import { receivePort, startHelper } from "./children.ts";
import { createFundedKey, runCommand, startServe, writeInstallation } from "./installation.ts";
import {
  SOAK_STREAMS,
  highestRate,
  mixture,
  soak,
  soakProviders,
  type Subject,
} from "./soak-load.ts";
import { USAGE, parseSoakOptions, type SoakOptions } from "./soak-options.ts";
import { errorsOf, judge, soakChart, soakPage, soakTable, type SoakResults } from "./soak-page.ts";

/**
 * `npm run bench:soak`: half an hour of load on a real `serve` process, to see whether anything grows
 * that should not. Ends with 1 on an error, on growing memory and on a violation of the books.
 */
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = join(ROOT, "docs", "soak.md");
const CHART = join(ROOT, "docs", "soak.svg");
const RESULTS = join(ROOT, "bench", "results", "soak");

const closers: (() => Promise<void> | void)[] = [];
const loadAtStart = Math.round((loadavg()[0] ?? 0) * 100) / 100;
const words = process.argv.slice(2);
const chosen = parseSoakOptions(words);
if (chosen === undefined) process.stdout.write(`${USAGE}\n`);
else {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void closeAll().finally(() => process.exit(1)));
  }
  try {
    process.exitCode = await run(chosen);
  } finally {
    await closeAll();
  }
}

async function run(options: SoakOptions): Promise<number> {
  if (options.build) buildGateway();
  const subject = await startSubject();
  const highest =
    options.requestsPerSecond === undefined ? await highestRate(subject, say) : undefined;
  const requestsPerSecond =
    options.requestsPerSecond ?? Math.round(((highest ?? 0) * options.percent) / 100);
  say(`soaking for ${options.minutes} minutes at ${requestsPerSecond} requests a second`);
  const seen = await soak(subject, { options, requestsPerSecond, say });
  say("auditing the books");
  const audit = runCommand(subject.dataFolder, ["ledger", "audit"]);
  const results: SoakResults = {
    format: 1,
    date: new Date(systemClock.nowMs()).toISOString().slice(0, 10),
    node: process.versions.node,
    machine: {
      cpu: (cpus()[0]?.model ?? "unknown").trim(),
      cores: cpus().length,
      kernel: release().split(".", 2).join("."),
      loadAverageAtStart: loadAtStart,
    },
    command: ["npm run bench:soak", ...(words.length === 0 ? [] : ["--", ...words])].join(" "),
    options,
    highestPerSecond: highest,
    requestsPerSecond,
    ...seen,
    ...auditOf(audit),
  };
  await report(results);
  const isFlat = judge(results.samples).every((each) => each.isFlat || !each.isHeld);
  return errorsOf(results) === 0 && results.auditViolations === 0 && isFlat ? 0 : 1;
}

async function startSubject(): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-soak-"));
  chmodSync(folder, 0o755); // as root the database runs as another user, who must get in
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const mock = startHelper("./mock-provider.ts");
  closers.push(() => mock.stop());
  const mockPort = await receivePort(mock);
  mock.send(SOAK_STREAMS);
  const load = startHelper("./mixed-load.ts");
  closers.push(() => load.stop());
  const installation = writeInstallation(folder, soakProviders(mockPort));
  say("starting the gateway");
  const serve = await startServe(installation);
  closers.push(() => serve.stop());
  const { dataFolder } = installation;
  return { load, serve, dataFolder, requests: mixture(serve.port, createFundedKey(dataFolder)) };
}

function auditOf(
  audit: Readonly<Record<string, unknown>>,
): Pick<SoakResults, "auditViolations" | "auditChecks"> {
  const checks = audit["checks"] as readonly { readonly violations: number }[];
  const auditViolations = checks.reduce((sum, check) => sum + check.violations, 0);
  return { auditViolations, auditChecks: checks.length };
}

async function report(results: SoakResults): Promise<void> {
  mkdirSync(RESULTS, { recursive: true });
  const file = join(RESULTS, `${results.date}-node${results.node}.json`);
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  say(`saved ${file}`);
  if (results.options.save) {
    const printed = { parser: "markdown", printWidth: 100, proseWrap: "preserve" } as const;
    writeFileSync(PAGE, await format(soakPage(results), printed));
    writeFileSync(CHART, soakChart(results.samples));
    say(`wrote ${PAGE} and ${CHART}`);
  }
  const violations = `${results.auditViolations} violations of the books`;
  const errors = `${errorsOf(results)} errors ${results.firstError.slice(0, 300)}`;
  process.stdout.write(`${soakTable(judge(results.samples))}\n\n${errors}\n${violations}\n`);
}

function buildGateway(): void {
  say("building dist/");
  const built = spawnSync("npm", ["run", "build"], { cwd: ROOT, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`);
}

async function closeAll(): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    await Promise.resolve(close()).catch((error: unknown) => say(String(error)));
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
