import { availableParallelism } from "node:os";
import type { Command } from "commander";

import { openExportKey, readExportKey } from "../app/index.ts";
import type { AuditCheck, AuditOutcome, AuditProgress } from "../ledger/index.ts";
import {
  PUBLIC_KEY_OPTION,
  answering,
  clock,
  type CommandAnswer,
  type Flags,
  onStoredData,
  readConfig,
  UsageFault,
  pickTexts,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readText, readWhole, readDay } from "./read-flags.ts";
import { withBackend } from "./with-backend.ts";
import type { Config } from "../kernel/index.ts";

const JOBS = { min: 1, max: 8 };
/** At most four connections leave most of a database's connections to the gateways. */
const JOBS_DEFAULT_MAX = 4;
const PROGRESS_LINES = 250_000;
const MS_PER_DAY = 86_400_000;

export function addAuditCommand(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("audit"))
    .description(
      "verify the books while the server runs: check every invariant, rebuild every account from its transfers, replay the journal, from the last closed day on; exit 1 when they differ",
    )
    .option("--full", "prove everything, and every closed day")
    .option(
      "--close-day [day]",
      "then sign the balances at the end of a day (YYYY-MM-DD, UTC; default yesterday), where later audits begin",
    )
    .option("--jobs <n>", "connections at a time, 1 to 8 (default the cores, at most 4)")
    .option(...PUBLIC_KEY_OPTION)
    .action(answering(context, (flags: Flags) => audit(context, flags)));
}

async function audit(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const day = dayToClose(flags);
  const options = {
    isFull: flags["full"] === true,
    trustedKey: readTrustedKey(config, flags),
    jobs: readWhole(flags, "jobs", JOBS) ?? Math.min(availableParallelism(), JOBS_DEFAULT_MAX),
    onProgress: progressTo(context),
  };
  return await withBackend(context, flags, async (backend, by) => {
    if (day === undefined) return renderAnswer(context, await backend.auditBooks(options));
    const key = openExportKey(config);
    return renderAnswer(context, await backend.closeDay(day, { ...options, key }, by));
  });
}

/** The key of `--public-key`, else this installation's key; undefined if it has none. */
export function readTrustedKey(config: Config, flags: Flags): ReturnType<typeof readExportKey> {
  const file = readText(flags, "public-key");
  const key = readExportKey(config, file);
  if (file === undefined || key !== undefined) return key;
  throw new UsageFault(`${file}: there is no such file; check --public-key`);
}

function dayToClose(flags: Flags): string | undefined {
  if (flags["closeDay"] === undefined) return undefined;
  const yesterday = new Date(clock.nowMs() - MS_PER_DAY).toISOString().slice(0, 10);
  return readDay(pickTexts(flags)["closeDay"] ?? yesterday, "--close-day");
}

function renderAnswer({ stderr }: CommandContext, outcome: AuditOutcome): CommandAnswer {
  const { checks, sinceDay, reason, checkpoint: closed } = outcome;
  const ok = checks.every((check) => check.violations === 0);
  if (reason !== undefined) stderr.write(`everything was read: ${reason}\n`);
  const text = [
    ...checks.flatMap(renderCheck),
    ...(sinceDay === undefined ? [] : [`proven from the end of ${sinceDay} on`]),
    ...(closed === undefined ? [] : [`closed ${closed.day} at position ${closed.position}`]),
  ];
  return {
    json: {
      ok,
      since_day: sinceDay ?? null,
      ...(closed === undefined
        ? {}
        : { closed_day: closed.day, position: String(closed.position) }),
      checks,
    },
    text: text.join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

function renderCheck(check: AuditCheck): readonly string[] {
  const { id, title, violations, examples = [] } = check;
  if (violations === 0) return [`ok      ${id}  ${title}`];
  return [
    `BROKEN  ${id}  ${title}: ${violations}`,
    ...examples.map(({ row, found, expected }) => `        ${row}: ${found}; expected ${expected}`),
  ];
}

function progressTo({ stderr }: CommandContext): (progress: AuditProgress) => void {
  let next = PROGRESS_LINES;
  return ({ replayed, entries }) => {
    if (replayed < next && replayed < entries) return;
    next = replayed + PROGRESS_LINES;
    stderr.write(`replayed ${replayed} of ${entries} journal entries\n`);
  };
}
