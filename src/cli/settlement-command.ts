import { existsSync, readFileSync, statSync } from "node:fs";

import type { Command } from "commander";

import { type Backend, readSettlementTerms } from "../app/index.ts";
import {
  type ChangedBy,
  instant,
  parseUsd,
  SETTLEMENT_STATEMENT_BYTES_MAX,
} from "../kernel/index.ts";
import {
  compareStatement,
  ENTRY_COLUMNS,
  entryLine,
  type PeriodName,
  type ProviderClaim,
  readProviderClaim,
  type SettlementStatement,
  type SettlementStore,
  type SettlementTerms,
  wholePeriod,
} from "../ledger/index.ts";
import {
  answering,
  clock,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
  type CommandAnswer,
  textsOf,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import {
  balanceJson,
  periodJson,
  periodsCsv,
  reconciliationJson,
  settlementText,
  statementJson,
} from "./settlement-answers.ts";
import { bearLost } from "./settlement-lost.ts";
import { addPutBackCommand, writePeriodFiles } from "./settlement-put-back.ts";
import { readInstant } from "./read-instant.ts";

/** `settlement close | list | show | deposit | pay | reconcile | put-back` */
export function addSettlementCommand(program: Command, context: CommandContext): void {
  const settlement = program.command("settlement").description("settle what is owed to providers");
  onStoredData(settlement.command("close"))
    .description("close every period that has ended; it is safe to repeat and to run twice at once")
    .option("--provider <id>", "this provider only")
    .option(
      "--until <instant>",
      "close as if this were the current time, such as 2026-09-01T00:00Z",
    )
    .option("--manifests <folder>", "manifests with the terms (default ./manifests)")
    .option(
      "--out <folder>",
      "write each closed period to a signed file, to put back after a restore",
    )
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend, by) => close(context, backend, { flags, by })),
      ),
    );
  onStoredData(settlement.command("list"))
    .description("list closed periods, newest first, and the balance with each provider")
    .option("--provider <id>", "this provider only")
    .option("--csv", "print comma-separated values")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => list(backend, flags)),
      ),
    );
  onPeriod(settlement.command("show"))
    .description("show the statement of a period, or every attempt of it as CSV")
    .option("--csv", "print CSV with one line per attempt")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => show(context, backend, flags)),
      ),
    );
  onPeriod(settlement.command("pay"))
    .description("record that a period was paid in full, once")
    .requiredOption(
      "--ref <reference>",
      "identifies this payment permanently; recording it again changes nothing",
    )
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend, by) => pay(backend, flags, by)),
      ),
    );
  addStatementCommands(settlement, context);
}

function addStatementCommands(settlement: Command, context: CommandContext): void {
  onStoredData(settlement.command("deposit"))
    .description("record a deposit paid to a provider in advance, once per reference")
    .requiredOption("--provider <id>", "the provider")
    .requiredOption("--usd <amount>", "dollars above 0, at most six decimals")
    .requiredOption(
      "--ref <reference>",
      "identifies this payment permanently; recording it again changes nothing",
    )
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend, by) => deposit(backend, flags, by)),
      ),
    );
  onStoredData(settlement.command("reconcile"))
    .requiredOption("--provider <id>", "the provider")
    .option("--period <start>", "start of the period, such as 2026-09-01")
    .description("compare a provider's own statement with ours; exit 1 when they differ")
    .option(
      "--lost",
      "owe what the books lost in a restore and the statement has; needs no --period",
    )
    .requiredOption(
      "--statement <file>",
      "the provider's statement: JSON with total_usd and lines, or CSV with a header row",
    )
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend, by) => compareOrBear(backend, flags, by)),
      ),
    );
  addPutBackCommand(settlement, context);
}

function onPeriod(command: Command): Command {
  return onStoredData(command)
    .requiredOption("--provider <id>", "the provider")
    .requiredOption("--period <start>", "start of the period, such as 2026-09-01");
}

async function close(
  context: CommandContext,
  backend: Backend,
  { flags, by }: { readonly flags: Flags; readonly by: ChangedBy },
): Promise<CommandAnswer> {
  const { settlementStore } = backend;
  const { provider, until } = textsOf(flags);
  const request = {
    listed: listedTerms(context, flags),
    ...(provider !== undefined ? { providerId: provider } : {}),
    ...(until !== undefined ? { untilMs: readInstant(until, "--until") } : {}),
  };
  const outcome = await settlementStore.closeDuePeriods(request, by);
  const files = await writePeriodFiles(context, backend, flags);
  const json = {
    closed: outcome.closed.map(statementJson),
    settled_through: instant(outcome.throughMs),
    files_written: files,
    unlisted: outcome.unlisted.map(({ providerId, termsFrom }) => ({
      provider_id: providerId,
      terms_from: termsFrom,
    })),
  };
  return { json, text: settlementText(json) };
}

/** Terms from the manifests folder; none when there is no folder and none was named. */
function listedTerms(context: CommandContext, flags: Flags): ReadonlyMap<string, SettlementTerms> {
  const { manifestsDir } = readConfig(context, flags);
  const isFolderOptional = flags["manifests"] === undefined;
  const read = readSettlementTerms({ manifestsDir, isFolderOptional, env: context.env, clock });
  if (read.ok) return read.terms;
  throw new UsageFault(`nothing was closed: ${read.problem}`);
}

async function list({ settlementStore }: Backend, flags: Flags): Promise<CommandAnswer> {
  const { provider: only } = textsOf(flags);
  const periods = await settlementStore.periods(only);
  const balances = await settlementStore.balances(only);
  const json = { periods: periods.map(periodJson), providers: balances.map(balanceJson) };
  return { json, text: flags["csv"] === true ? periodsCsv(periods) : settlementText(json) };
}

async function show(
  { stdout }: CommandContext,
  { settlementStore }: Backend,
  flags: Flags,
): Promise<CommandAnswer> {
  if (flags["csv"] === true && flags["json"] === true) {
    throw new UsageFault("--csv and --json cannot be combined; choose one");
  }
  const statement = await findStatement(settlementStore, flags);
  if (flags["csv"] !== true) return { json: statementJson(statement) };
  // The write itself reports the error; without a listener the same event would end the process.
  stdout.once("error", () => undefined);
  await writeOut(stdout, `${ENTRY_COLUMNS}\n`);
  const { period } = statement;
  for await (const block of wholePeriod(period, settlementStore.entries(period))) {
    await writeOut(stdout, block.map((entry) => `${entryLine(entry)}\n`).join(""));
  }
  return { json: undefined, text: "" };
}

/** Waits for a reader that is slower than the database; rejects when the reader has left. */
async function writeOut(stdout: NodeJS.WritableStream, text: string): Promise<void> {
  await new Promise<void>((written, failed) => {
    stdout.write(text, (fault) => (fault instanceof Error ? failed(fault) : written()));
  });
}

async function pay(
  { settlementStore }: Backend,
  flags: Flags,
  by: ChangedBy,
): Promise<CommandAnswer> {
  const ref = String(flags["ref"]);
  const { created, period } = await settlementStore.pay({ ...readPeriodName(flags), ref }, by);
  return { json: { created, ...periodJson(period) } };
}

async function deposit(
  { settlementStore }: Backend,
  flags: Flags,
  by: ChangedBy,
): Promise<CommandAnswer> {
  const providerId = String(flags["provider"]);
  const amountMicroUsd = parseUsd(String(flags["usd"]));
  if (amountMicroUsd === undefined || amountMicroUsd <= 0n) {
    throw new UsageFault("--usd must be dollars above 0 such as 500.00");
  }
  if (!/^[a-z0-9][a-z0-9-]{1,62}$/.test(providerId)) {
    throw new UsageFault(`--provider: ${providerId} is not a provider id`);
  }
  const ref = String(flags["ref"]);
  const paid = { providerId, amountMicroUsd, ref };
  const { created, balance } = await settlementStore.deposit(paid, by);
  return { json: { created, ...balanceJson(balance) } };
}

async function compareOrBear(
  backend: Backend,
  flags: Flags,
  by: ChangedBy,
): Promise<CommandAnswer> {
  const file = String(flags["statement"]);
  const bytes = readStatementFile(file);
  const outcome = readProviderClaim(bytes.toString("utf8"));
  if (outcome.kind === "unreadable") throw new UsageFault(`${file}: ${outcome.problem}`);
  if (flags["lost"] === true) return await bearLost(backend, { flags, by }, outcome.claim);
  if (flags["period"] === undefined) throw new UsageFault("name the period with --period");
  return await compare(backend, { flags, by }, { bytes, claim: outcome.claim });
}

async function compare(
  { settlementStore }: Backend,
  { flags, by }: { readonly flags: Flags; readonly by: ChangedBy },
  { bytes, claim }: { readonly bytes: Buffer; readonly claim: ProviderClaim },
): Promise<CommandAnswer> {
  const { period } = await findStatement(settlementStore, flags);
  const found = await compareStatement(settlementStore, { period, claim, bytes }, by);
  const { providerId, startMs } = period;
  return {
    json: { provider_id: providerId, period: instant(startMs), ...reconciliationJson(found) },
    exitCode: found.isEqual ? 0 : 1,
  };
}

function readStatementFile(file: string): Buffer {
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file; check --statement`);
  if (statSync(file).size > SETTLEMENT_STATEMENT_BYTES_MAX) {
    const most = SETTLEMENT_STATEMENT_BYTES_MAX / (1024 * 1024);
    throw new UsageFault(`${file} is larger than ${most} MiB; compare the total only`);
  }
  return readFileSync(file);
}

async function findStatement(store: SettlementStore, flags: Flags): Promise<SettlementStatement> {
  const of = readPeriodName(flags);
  const statement = await store.statement(of);
  if (statement !== undefined) return statement;
  const name = `${of.providerId} has no closed period that starts at ${instant(of.startMs)}`;
  throw new UsageFault(`${name}; see settlement list --provider ${of.providerId}`);
}

function readPeriodName(flags: Flags): PeriodName {
  const startMs = readInstant(String(flags["period"]), "--period");
  return { providerId: String(flags["provider"]), startMs };
}
