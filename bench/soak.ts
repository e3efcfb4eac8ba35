import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DisposalStack } from "../src/app/disposal-stack.ts";
import { receivePort, startHelper } from "./children.ts";
import {
  buildGateway,
  commandLine,
  loadAverage,
  machineFacts,
  runToEnd,
  saveRun,
  today,
  writePage,
} from "./command.ts";
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
const CHART = fileURLToPath(new URL("../docs/soak.svg", import.meta.url));

const resources = new DisposalStack();
const loadAtStart = loadAverage();
const words = process.argv.slice(2);
const chosen = parseSoakOptions(words);
if (chosen === undefined) process.stdout.write(`${USAGE}\n`);
else await runToEnd(resources, () => run(chosen));

async function run(options: SoakOptions): Promise<number> {
  if (options.build) buildGateway(say);
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
    date: today(),
    node: process.versions.node,
    machine: machineFacts(loadAtStart),
    command: commandLine("bench:soak", words),
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
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const mock = startHelper("./mock-provider.ts");
  resources.defer(() => mock.stop());
  const mockPort = await receivePort(mock);
  mock.send(SOAK_STREAMS);
  const load = startHelper("./mixed-load.ts");
  resources.defer(() => load.stop());
  const installation = writeInstallation(folder, soakProviders(mockPort));
  say("starting the gateway");
  const serve = await startServe(installation);
  resources.defer(() => serve.stop());
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
  say(`saved ${saveRun("soak", results)}`);
  if (results.options.save) {
    const page = await writePage("soak.md", soakPage(results));
    writeFileSync(CHART, soakChart(results.samples));
    say(`wrote ${page} and ${CHART}`);
  }
  const violations = `${results.auditViolations} violations of the books`;
  const errors = `${errorsOf(results)} errors ${results.firstError.slice(0, 300)}`;
  process.stdout.write(`${soakTable(judge(results.samples))}\n\n${errors}\n${violations}\n`);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
