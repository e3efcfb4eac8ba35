import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DisposalStack } from "../src/app/disposal-stack.ts";
import { systemClock } from "../src/core/time.ts";
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
import { startDeployment } from "./soak-deployment.ts";
import { runEvents, type SoakEvent } from "./soak-events.ts";
import {
  SOAK_STREAMS,
  WARMUP_MS,
  highestRate,
  mixture,
  soak,
  soakProviders,
  type Subject,
} from "./soak-load.ts";
import { USAGE, parseSoakOptions, type SoakOptions } from "./soak-options.ts";
import { faultsOf, judge, soakChart, soakPage, soakTable } from "./soak-page.ts";
import type { SoakResults } from "./soak-results.ts";

/**
 * `npm run bench:soak`: half an hour of load on two instances as an operator has them, with a rolling
 * restart and a failover of each store, to see whether anything breaks or grows that should not. Ends
 * with 1 on an error, on growth, on a violation of the books and on a hold that is left.
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
  const { deployment } = subject;
  const fromMs = systemClock.monotonicMs() + WARMUP_MS;
  const [seen, events] = await Promise.all([
    soak(subject, { options, requestsPerSecond, say }),
    runEvents(deployment, { minutes: options.minutes, fromMs }, say),
  ]);
  refuseLateEvents(events, seen.samples.at(-1)?.seconds ?? 0);
  say("waiting for the last settlements, and auditing the books");
  const holdsLeft = await deployment.holdsLeft(say);
  const audit = await deployment.audit();
  const results: SoakResults = {
    format: 2,
    date: today(),
    node: process.versions.node,
    machine: machineFacts(loadAtStart),
    command: commandLine("bench:soak", words),
    options,
    highestPerSecond: highest,
    requestsPerSecond,
    ...seen,
    events,
    ...auditOf(audit),
    holdsLeft,
  };
  await report(results);
  return faultsOf(results).length === 0 ? 0 : 1;
}

/** An event without load proves nothing. */
function refuseLateEvents(events: readonly SoakEvent[], loadSeconds: number): void {
  const late = events.find(({ toSeconds }) => toSeconds > loadSeconds);
  if (late === undefined) return;
  throw new Error(`${late.title} was not over when the load ended; give more --minutes`);
}

async function startSubject(): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-soak-"));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const mock = startHelper("./mock-provider.ts");
  resources.defer(() => mock.stop());
  const mockPort = await receivePort(mock);
  mock.send(SOAK_STREAMS);
  say("starting the stores and two gateways");
  const providers = soakProviders(mockPort);
  const deployment = await startDeployment(resources, { folder, providers });
  const load = startHelper("./mixed-load.ts");
  resources.defer(() => load.stop());
  const key = await deployment.createFundedKey();
  return { load, deployment, requests: mixture(deployment.port, key) };
}

function auditOf(
  audit: Readonly<Record<string, unknown>>,
): Pick<SoakResults, "auditViolations" | "auditChecks"> {
  const checks = audit["checks"] as readonly { readonly violations: number }[];
  const auditViolations = checks.reduce((sum, check) => sum + check.violations, 0);
  return { auditViolations, auditChecks: checks.length };
}

async function report(results: SoakResults): Promise<void> {
  if (results.options.save) {
    say(`saved ${saveRun("soak", results)}`);
    const page = await writePage("soak.md", soakPage(results));
    writeFileSync(CHART, soakChart(results));
    say(`wrote ${page} and ${CHART}`);
  }
  const faults = faultsOf(results);
  if (results.options.json) process.stdout.write(`${JSON.stringify({ ...results, faults })}\n`);
  else process.stdout.write(`${soakTable(judge(results.samples))}\n\n`);
  say(faults.length === 0 ? "passed" : `failed: ${faults.join("; ")}`);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
