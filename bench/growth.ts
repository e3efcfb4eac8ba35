import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DisposalStack } from "../src/app/disposal-stack.ts";
import { systemClock } from "../src/core/time.ts";
import type { Ledger } from "../src/ledger/ledger-store.ts";
import { chatBody } from "./chat-bodies.ts";
import { receivePort, startHelper, type Helper } from "./children.ts";
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
import { fillInstallation, settleDatabase } from "./growth-fill.ts";
import { measureCycles, openBenchLedger, openBooks, type OpenBooks } from "./growth-ledger.ts";
import { Figures } from "./growth-figures.ts";
import { growthPage, growthTable, type GrowthResults } from "./growth-page.ts";
import {
  MODELS_PER_PROVIDER,
  USAGE,
  activeOf,
  modelIdOf,
  parseGrowthOptions,
  providerIdOf,
  sizesInUse,
  type Active,
  type GrowthOptions,
  type Sizes,
} from "./growth-plan.ts";
import {
  startServe,
  writeInstallation,
  type Installation,
  type MockProvider,
  type RunningServe,
} from "./installation.ts";
import type { MixedJob, MixedReport } from "./mixed-load-job.ts";
import { readResidentBytes } from "./process-cost.ts";
import { chatPath, clientHeaders } from "./targets/target.ts";

/**
 * `npm run bench:growth`: what a request, and a reserve with its settlement, cost on an installation
 * that has grown, beside an empty one, measured in turn in one run.
 */
const BODY_BYTES = 1_024;
/** A process that has just started measures its compiler: see docs/decisions/0027. */
const COMPILE_MS = 40_000;
const WARMUP_MS = 300;

const startedMs = systemClock.monotonicMs();
const loadAtStart = loadAverage();
const resources = new DisposalStack();
const words = process.argv.slice(2);
const chosen = parseGrowthOptions(words);
if (chosen === undefined) process.stdout.write(`${USAGE}\n`);
else await runToEnd(resources, () => run(chosen));

async function run(options: GrowthOptions): Promise<number> {
  if (options.build) buildGateway(say);
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-growth-"));
  chmodSync(folder, 0o755); // as root the database runs as another user, who must get in
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const mock = startHelper("./mock-provider.ts");
  resources.defer(() => mock.stop());
  const mockPort = await receivePort(mock);
  const load = startHelper("./mixed-load.ts");
  resources.defer(() => load.stop());
  const makingMs = systemClock.monotonicMs();
  const make = (id: SubjectId, sizes: Sizes): Promise<Made> =>
    makeInstallation({ id, sizes, options, mockPort, folder: join(folder, id) });
  const made = [
    await make("empty", sizesInUse(options.active)),
    await make("grown", options.sizes),
  ];
  const generatedInSeconds = (systemClock.monotonicMs() - makingMs) / 1_000;
  const subjects: Subject[] = [];
  for (const each of made) subjects.push(await startSubject(each));
  const figures = new Figures();
  for (const subject of subjects) await warmUp(load, subject, options);
  for (let round = 1; round <= options.rounds; round += 1) {
    say(`round ${round} of ${options.rounds}`);
    const order = round % 2 === 0 ? subjects : subjects.toReversed();
    for (const callers of ["one", "all"] as const) {
      for (const subject of order) await measure({ load, subject, callers, options, figures });
    }
  }
  for (const { id, serve, startMs } of subjects) {
    figures.add("resident memory of the gateway", "MB", { [id]: megabytes(serve) });
    figures.add("start", "s", { [id]: startMs / 1_000 });
  }
  const auditViolations = options.audit ? await auditGrown(subjects) : undefined;
  const results: GrowthResults = {
    format: 1,
    date: today(),
    node: process.versions.node,
    machine: machineFacts(loadAtStart),
    command: commandLine("bench:growth", words),
    options,
    generatedInSeconds,
    rows: figures.rows(),
    ...(auditViolations === undefined ? {} : { auditViolations }),
  };
  await report(results);
  return (auditViolations ?? 0) === 0 ? 0 : 1;
}

type SubjectId = "empty" | "grown";

interface Made {
  readonly id: SubjectId;
  readonly installation: Installation;
  readonly callers: readonly Active[];
}

interface Making {
  readonly id: SubjectId;
  readonly sizes: Sizes;
  readonly options: GrowthOptions;
  readonly mockPort: number;
  readonly folder: string;
}

async function makeInstallation({ id, sizes, options, mockPort, folder }: Making): Promise<Made> {
  say(`making the ${id} installation`);
  mkdirSync(folder);
  const installation = writeInstallation(folder, providersOf(sizes, mockPort));
  const books = await openBooks(installation.dataFolder);
  try {
    await books.backend.migrate();
    await fillInstallation(books.connectionString, sizes, say);
    await settleDatabase(books.connectionString);
  } finally {
    await books.close();
  }
  return { id, installation, callers: activeOf(sizes, options.active) };
}

function providersOf({ listings }: Sizes, mockPort: number): readonly MockProvider[] {
  const ids = Array.from({ length: listings }, (_, listing) => listing);
  const firsts = ids.filter((listing) => listing % MODELS_PER_PROVIDER === 0);
  return firsts.map((first) => ({
    id: providerIdOf(first),
    wire: "wire_a",
    mockPort,
    modelIds: ids.slice(first, first + MODELS_PER_PROVIDER).map(modelIdOf),
  }));
}

interface Subject extends Made {
  readonly serve: RunningServe;
  /** Of the second start: the first one also notes the prices of the listings. */
  readonly startMs: number;
  readonly books: OpenBooks;
  readonly ledger: Ledger;
}

async function startSubject(made: Made): Promise<Subject> {
  say(`starting the ${made.id} gateway, twice`);
  const first = await startServe(made.installation);
  await first.stop();
  const serve = await startServe(made.installation);
  resources.defer(() => serve.stop());
  const books = await openBooks(made.installation.dataFolder);
  resources.defer(() => books.close());
  const ledger = await openBenchLedger(books);
  resources.defer(() => ledger.shutDown());
  return { ...made, serve, startMs: serve.startMs, books, ledger };
}

async function warmUp(load: Helper, subject: Subject, options: GrowthOptions): Promise<void> {
  say(`warming up the ${subject.id} gateway`);
  await runLoad(load, jobOf(subject, subject.callers, { options, windowMs: COMPILE_MS }));
  await measureCycles(subject.ledger, subject.callers, COMPILE_MS / 10);
}

interface Measuring {
  readonly load: Helper;
  readonly subject: Subject;
  readonly callers: "one" | "all";
  readonly options: GrowthOptions;
  readonly figures: Figures;
}

async function measure({ load, subject, callers, options, figures }: Measuring): Promise<void> {
  const { id, ledger } = subject;
  const picked = callers === "one" ? subject.callers.slice(0, 1) : subject.callers;
  const whose = callers === "one" ? "one key" : "all active";
  const windowMs = options.seconds * 1_000;
  const seen = await runLoad(load, jobOf(subject, picked, { options, windowMs }));
  const gatewayUs = seen.cpuNs / seen.answered / 1_000;
  const databaseUs = seen.helperCpuNs / seen.answered / 1_000;
  figures.add(`gateway per request, ${whose}`, "us", { [id]: gatewayUs });
  figures.add(`database per request, ${whose}`, "us", { [id]: databaseUs });
  const cycles = await measureCycles(ledger, picked, windowMs / 3);
  figures.add(`reserve p50, ${whose}`, "ms", { [id]: cycles.reserveP50Ms });
  figures.add(`settle p50, ${whose}`, "ms", { [id]: cycles.settleP50Ms });
  const perSecond = Math.round((seen.answered / seen.windowMs) * 1_000);
  say(
    `  ${id} ${whose}: gateway ${gatewayUs.toFixed(0)} us, database ${databaseUs.toFixed(0)} us, ` +
      `${perSecond}/s; reserve ${cycles.reserveP50Ms.toFixed(2)} ms, ` +
      `settle ${cycles.settleP50Ms.toFixed(2)} ms`,
  );
}

function jobOf(
  { serve }: Subject,
  callers: readonly Active[],
  { options, windowMs }: { readonly options: GrowthOptions; readonly windowMs: number },
): MixedJob {
  return {
    requests: callers.map(({ rawKey, modelId }) => ({
      endpoint: {
        port: serve.port,
        path: chatPath("wire_a"),
        headers: clientHeaders("wire_a", rawKey),
      },
      body: chatBody({ wire: "wire_a", model: modelId, bodyBytes: BODY_BYTES, stream: false }),
      stream: false,
      isTranslated: false,
    })),
    connections: options.connections,
    warmupMs: WARMUP_MS,
    windowMs,
    windows: 1,
    processIds: [serve.processId],
  };
}

async function runLoad(load: Helper, job: MixedJob): Promise<MixedReport> {
  load.send(job);
  const answer = await load.receive(60_000 + job.windowMs);
  const { report: seen, error } = answer as {
    readonly report?: MixedReport;
    readonly error?: string;
  };
  if (seen === undefined) throw new Error(error ?? "the load gave no report");
  await load.receive(60_000); // its connections are closed
  const failed = seen.errors + seen.announced;
  if (failed > 0) throw new Error(`${failed} requests failed; the first: ${seen.firstError}`);
  if (seen.answered === 0) throw new Error("nothing was answered");
  return seen;
}

function megabytes(serve: RunningServe): number {
  return readResidentBytes([serve.processId]) / 1_000_000;
}

async function auditGrown(subjects: readonly Subject[]): Promise<number> {
  say("auditing the grown books");
  const grown = subjects.find((subject) => subject.id === "grown");
  const checks = (await grown?.books.backend.audit()) ?? [];
  for (const check of checks) if (check.violations > 0) say(JSON.stringify(check));
  return checks.reduce((sum, check) => sum + check.violations, 0);
}

async function report(results: GrowthResults): Promise<void> {
  say(`saved ${saveRun("growth", results)}`);
  if (results.options.save) say(`wrote ${await writePage("growth.md", growthPage(results))}`);
  process.stdout.write(`${growthTable(results.rows)}\n`);
}

function say(line: string): void {
  const seconds = (systemClock.monotonicMs() - startedMs) / 1_000;
  process.stderr.write(`${seconds.toFixed(0).padStart(4)} s  ${line}\n`);
}
