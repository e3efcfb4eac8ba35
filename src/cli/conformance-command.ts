import {
  accessSync,
  appendFileSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "commander";

import { parsePublicForm, readOutbound } from "../app/index.ts";
import { validateManifest } from "../catalog/index.ts";
import { type Config, formatUsd, type MicroUsd, parseUsd } from "../kernel/index.ts";
import {
  CHECK_IDS,
  type CheckId,
  type ConformanceReport,
  type ExpectedCosts,
  toExitCode,
  expectedCosts,
  junitReport,
  markdownReport,
  readSignedReport,
  runSuite,
  signReport,
} from "../listing-tools/index.ts";
import { openSigningKey, readPublicKey } from "../ledger/index.ts";
import type { ListingVerdict } from "../gateway/index.ts";
import {
  answering,
  clock,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
  OPTIONS,
  pickTexts,
  readConfig,
  readWhole,
  UsageFault,
} from "./command-context.ts";
import { onProbes, readUsd, readTimeoutMs, addConformanceWatch } from "./conformance-watch.ts";
import { isFlaw, showProgress, toVerdicts } from "./conformance-run.ts";
import { toValues } from "./manifest-init/init-flags.ts";
import { keyIssue } from "./manifest-init/write-manifest.ts";
import { untilSignal } from "./run-to-end.ts";
import { withBackend } from "./with-backend.ts";

export function addConformanceCommand(program: Command, context: CommandContext): void {
  const conformance = program
    .command("conformance")
    .description("check that providers do what their manifests list");
  onProbes(conformance.command("run <manifest>"))
    .description(
      "send small probes to every model; exit 0: it conforms, 1: it does not, 2: not known, 3: the manifest is not valid",
    )
    .option("--models <globs...>", "only these model ids; * is any text")
    .option("--checks <ids>", `only these checks, with commas (${CHECK_IDS.join(",")})`)
    .option("--markdown <file>", "write the report as a table for people")
    .option("--junit <file>", "write the report as JUnit XML")
    .option("--evidence <folder>", "write one file a model with what was seen")
    .option("--json [file]", "write the report as JSON to this file, or to standard output")
    .option("--concurrency <n>", "models tested at once (default 2)")
    .option("--estimate", "only say what a whole run will cost, and send nothing")
    .option("--allow-private", "let the endpoint be loopback or private")
    .option("--decisions-public-form", "ask a decisions host in its own public grammar")
    .option("--sign <key>", "sign the JSON report with this Ed25519 key (PEM); made when missing")
    .option("--record", "store the verdicts, so that listings count as verified")
    .option("--data <folder>", "with --record: folder of the embedded PostgreSQL (default ./data)")
    .option(...OPTIONS.config)
    .action(answering(context, runConformance));
  onStoredData(conformance.command("import <report>"))
    .description("store the verdicts of a report that a trusted key signed")
    .requiredOption("--trusted-key <file>", "PEM file of the key that signs such reports")
    .action(answering(context, importReport));
  addConformanceWatch(conformance, context);
}

async function runConformance(
  context: CommandContext,
  manifest: string,
  flags: Flags,
): Promise<CommandAnswer> {
  if (!existsSync(manifest)) throw new UsageFault(`${manifest}: there is no such file`);
  const config = readConfig(context, flags);
  // The signing key is opened before any probe is paid for: if it cannot be opened, the paid report
  // could not be signed.
  const { sign } = pickTexts(flags);
  const key = sign === undefined ? undefined : openSigningKey(sign);
  const manifestText = readFileSync(manifest, "utf8");
  const misused = findMisusedKey(config, manifest, manifestText);
  if (misused !== undefined) return invalid([misused]);
  const listings = {
    manifestText,
    file: basename(manifest),
    env: context.env,
    clock,
    decisionsPublicForm: flags["decisionsPublicForm"] === true || isPublic(config, manifestText),
    models: toValues(flags["models"]),
  };
  const bounds = {
    checks: parseChecks(pickTexts(flags)["checks"]),
    budgetMicroUsd: readUsd(flags, "budget-usd"),
    concurrency: readWhole(flags, "concurrency", { min: 1, max: 32 }) ?? 2,
    timeoutMs: readTimeoutMs(flags),
  };
  const expected = expectedCosts(listings);
  if (!expected.ok) return invalid(expected.problems);
  const costText = expectedText(expected.costs, bounds.budgetMicroUsd);
  if (flags["estimate"] === true) return { json: expected.costs, text: costText };
  const isRecorded = flags["record"] === true;
  // This call records nothing. It ends the command, before any probe is paid for, if the database
  // does not answer.
  if (isRecorded) await record(context, flags, []);
  openOutputs(flags);
  context.stderr.write(`${costText}\n`);
  // The first signal ends the run, with a report on the checks that have run.
  return await untilSignal((signal) =>
    showProgress(context, async (onProgress) => {
      const outcome = await runSuite({
        ...listings,
        allowPrivateUpstreams: flags["allowPrivate"] === true,
        outbound: readOutbound(config),
        ...bounds,
        signal,
        onProgress,
      });
      if (!outcome.ok) return invalid(outcome.problems);
      const { report } = outcome;
      const written = key === undefined ? report : signReport(report, key.privateKey);
      const verdicts = isRecorded ? toVerdicts(report, "run") : [];
      try {
        if (isRecorded) await record(context, flags, verdicts);
      } finally {
        writeReports(report, written, flags);
      }
      const recorded = isRecorded ? `\n${recordedText(verdicts)}` : "";
      const text = `${renderSummary(report)}${recorded}`;
      return { json: written, text, exitCode: toExitCode(report.verdict) };
    }),
  );
}

function expectedText({ expected_usd, models }: ExpectedCosts, budget: MicroUsd): string {
  const usd = (amount: string | null): string => (amount === null ? "unknown" : `$${amount}`);
  const each =
    models.length === 1 ? [] : models.map((model) => `\n  ${model.id}: ${usd(model.expected_usd)}`);
  const isShort = (parseUsd(expected_usd) ?? 0n) > budget;
  const bound = isShort
    ? "more than the budget, so that not all can be asked: raise --budget-usd"
    : `at most $${formatUsd(budget)}`;
  return `a whole run costs about $${expected_usd} (${bound})${each.join("")}`;
}

function recordedText(verdicts: readonly ListingVerdict[]): string {
  if (verdicts.length === 0) return "nothing was recorded: only a whole run of all checks counts";
  const partly = verdicts
    .filter(({ verdict }) => verdict === "warn")
    .map(({ modelId, checks }) => {
      const flaws = checks.filter(({ status }) => status === "fail" || status === "warn");
      const names = flaws.map(({ id, title }) => `${id} ${title}`).join(", ");
      return `\n${modelId} is verified but for ${names}`;
    });
  return `recorded the verdicts on ${verdicts.length} models${partly.join("")}`;
}

function invalid(problems: readonly string[]): CommandAnswer {
  return { json: { verdict: "invalid", problems }, text: problems.join("\n"), exitCode: 3 };
}

/**
 * Reports a manifest whose key variable holds a secret of this program or another provider's key.
 * Otherwise another party's manifest could make the run send that secret to its endpoint.
 */
function findMisusedKey(config: Config, file: string, manifestText: string): string | undefined {
  const verdict = validateManifest(manifestText);
  if (!verdict.ok) return undefined;
  const { base_url: baseUrl, api_key_env: apiKeyEnv } = verdict.manifest.endpoint;
  return apiKeyEnv === undefined ? undefined : keyIssue(config, file, { baseUrl, apiKeyEnv });
}

/** True if a server with these settings asks the manifest's provider in its public format. */
function isPublic({ decisionsPublicForm }: Config, manifestText: string): boolean {
  const verdict = validateManifest(manifestText);
  return verdict.ok && parsePublicForm(decisionsPublicForm).has(verdict.manifest.provider.id);
}

async function importReport(
  context: CommandContext,
  file: string,
  flags: Flags,
): Promise<CommandAnswer> {
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file`);
  const keyFile = String(flags["trustedKey"]);
  const key = readPublicKey(keyFile);
  if (key === undefined) throw new UsageFault(`${keyFile}: there is no such file`);
  const read = readSignedReport(readFileSync(file, "utf8"), key);
  if (!read.ok) throw new UsageFault(`${file}: nothing was stored: ${read.problem}`);
  const { provider, verdict, started_at: startedAt } = read.report;
  // The store dates such a verdict now, so each import would make it a new one.
  if (Date.parse(startedAt) > clock.nowMs() + AHEAD_MS_MAX) {
    throw new UsageFault(
      `${file}: nothing was stored: it is dated ${startedAt}, in the future; import it after that time`,
    );
  }
  const verdicts = toVerdicts(read.report, "import");
  await record(context, flags, verdicts);
  return {
    json: { provider, verdict, stored: verdicts.length },
    text: `${provider}: stored the verdicts on ${verdicts.length} models (${verdict})`,
  };
}

/** How far the clock of the machine that made a report may be ahead of this one's. */
const AHEAD_MS_MAX = 300_000;

async function record(
  context: CommandContext,
  flags: Flags,
  verdicts: readonly ListingVerdict[],
): Promise<void> {
  await withBackend(context, flags, ({ verdictStore }, by) => verdictStore.record(verdicts, by));
}

function parseChecks(value: string | undefined): readonly CheckId[] {
  if (value === undefined) return [];
  const named = value.split(",").map((id) => id.trim().toUpperCase());
  const unknown = named.find((id) => !CHECK_IDS.some((known) => known === id));
  if (unknown !== undefined) {
    throw new UsageFault(`--checks: there is no check ${unknown}; known: ${CHECK_IDS.join(", ")}`);
  }
  return CHECK_IDS.filter((id) => named.includes(id));
}

/** Before any probe is paid for, fails if a report could not be written. */
function openOutputs(flags: Flags): void {
  const { json, markdown, junit, evidence } = pickTexts(flags);
  for (const file of [json, markdown, junit]) if (file !== undefined) appendFileSync(file, "");
  if (evidence === undefined) return;
  mkdirSync(evidence, { recursive: true });
  accessSync(evidence, constants.W_OK);
}

function writeReports(report: ConformanceReport, written: object, flags: Flags): void {
  const { json, markdown, junit, evidence } = pickTexts(flags);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(written, undefined, 2)}\n`);
  if (markdown !== undefined) writeFileSync(markdown, markdownReport(report));
  if (junit !== undefined) writeFileSync(junit, junitReport(report));
  if (evidence === undefined) return;
  const taken = new Set<string>();
  for (const model of report.models) {
    const plain = model.id.replaceAll(/[^\w.-]+/g, "_");
    let name = plain;
    for (let at = 2; taken.has(name); at += 1) name = `${plain}-${at}`;
    taken.add(name);
    writeFileSync(join(evidence, `${name}.json`), `${JSON.stringify(model, undefined, 2)}\n`);
  }
}

function renderSummary(report: ConformanceReport): string {
  const models = report.models.map(({ id, verdict, ready, checks }) => {
    const why = checks
      .filter(isFlaw)
      .map((check) => `\n  ${check.id} ${check.status}: ${check.message}`);
    return `${id}${ready ? "" : " (staged)"}: ${verdict}${why.join("")}`;
  });
  const ended = report.is_complete ? "" : ", ended early";
  return [
    ...models,
    `${report.provider}: ${report.verdict} ($${report.spend_usd} spent${ended})`,
  ].join("\n");
}
