import type { Command } from "commander";

import { openDayArchive, openExportKey } from "../app/index.ts";
import { formatUsd } from "../core/index.ts";
import {
  dayFiles,
  foldedText,
  foldMonths,
  type FoldOptions,
  type FoldOutcome,
  parsePart,
} from "../ledger/index.ts";
import {
  answering,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
  type CommandAnswer,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { type RunAnswer, textFlag, whenOurs } from "./retention-run.ts";

const NOTHING = { ok: true, folded: [], dropped: [], kept: [], stopped: null };

/** `ledger fold` */
export function addFoldCommand(ledger: Command, context: CommandContext): void {
  onStoredData(ledger.command("fold"))
    .description("export old months of transfers, signed, and fold those of attempts into sums")
    .option("--month <month>", "only this one: YYYY-MM, or first (before there were months)")
    .option(
      "--older-than-months <n>",
      "whole months that stay, at least 1 (default retention.transfers_months)",
    )
    .option("--out <folder>", "folder of the exports (default retired in the data folder)")
    .option("--drop", "delete what was folded from the database, earlier runs' months too")
    .option("--dry-run", "only say what would be folded, or why not")
    .action(answering(context, (flags: Flags) => fold(context, flags)));
}

async function fold(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const olderThanMonths = readMonths(flags) ?? config.retentionTransfersMonths;
  if (olderThanMonths === 0) {
    return {
      json: NOTHING,
      text: "nothing is folded: retention.transfers_months is 0, which keeps all",
    };
  }
  const isDry = flags["dryRun"] === true;
  const drop = flags["drop"] === true;
  const part = readPart(flags);
  return await run(context, flags, { olderThanMonths, part, isDry, drop });
}

/** What `ledger retire` does when it has retired days; undefined: all transfers are kept. */
export async function foldAfterRetire(
  context: CommandContext,
  flags: Flags,
): Promise<RunAnswer | undefined> {
  const olderThanMonths = readConfig(context, flags).retentionTransfersMonths;
  if (olderThanMonths === 0) return undefined;
  return await run(context, flags, { olderThanMonths, drop: flags["drop"] === true });
}

async function run(
  context: CommandContext,
  flags: Flags,
  options: FoldOptions,
): Promise<RunAnswer> {
  const config = readConfig(context, flags);
  const archive = openDayArchive(config, textFlag(flags, "out"));
  return await withBackend(context, flags, async ({ retentionStore }, by) => {
    const key = openExportKey(config);
    const session = await whenOurs(() => retentionStore.openFold(by));
    try {
      const progress = (line: string): void => void context.stderr.write(`${line}\n`);
      const outcome = await foldMonths({ session, archive, key, progress }, options);
      return answerOf(outcome, archive.folder, options.isDry === true);
    } finally {
      await session.close();
    }
  });
}

function answerOf(outcome: FoldOutcome, folder: string, isDry: boolean): RunAnswer {
  const { folded, dropped, kept, stopped } = outcome;
  const ok = stopped === undefined && kept.length === 0;
  return {
    json: {
      ok,
      dry_run: isDry,
      folder,
      folded: folded.map(({ part, sums, kept: single }) => ({
        month: part,
        transfers: Number(sums.transfers),
        amount_usd: formatUsd(sums.amountMicroUsd),
        sums: sums.pairs.size,
        kept_transfers: Number(single),
        file: dayFiles(part).rows,
      })),
      dropped,
      kept: kept.map(({ part, reason }) => ({ month: part, reason })),
      stopped: stopped === undefined ? null : { month: stopped.part, reason: stopped.reason },
    },
    text: [
      `${folded.length} months ${isDry ? "would be folded" : `folded to ${folder}`}, ${dropped.length} dropped`,
      ...folded.map(foldedText),
      ...kept.map(({ part, reason }) => `not dropped: ${part}: ${reason}`),
      ...(stopped === undefined ? [] : [`stopped at ${stopped.part}: ${stopped.reason}`]),
    ].join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

function readPart(flags: Flags): FoldOptions["part"] {
  const text = textFlag(flags, "month");
  if (text === undefined) return undefined;
  const part = parsePart(text);
  if (part === undefined) throw new UsageFault("--month must be YYYY-MM or first");
  return part;
}

function readMonths(flags: Flags): number | undefined {
  const text = textFlag(flags, "olderThanMonths");
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(text)) {
    throw new UsageFault("--older-than-months must be a whole number of months, at least 1");
  }
  return Number(text);
}
