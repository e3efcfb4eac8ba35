import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import { type Backend, openExportKey, readExportKey } from "../app/index.ts";
import { type ChangedBy, formatExactUsd, instant, picoUsd } from "../kernel/index.ts";
import { periodFileName, readPeriodFile, signPeriod } from "../ledger/index.ts";
import {
  answering,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
  type CommandAnswer,
  textsOf,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readText } from "./number-flags.ts";

/**
 * Writes every closed period that the folder has no file of, signed with the export key: also those
 * of a run that ended before it had written them. Returns how many.
 */
export async function writePeriodFiles(
  context: CommandContext,
  { settlementStore }: Backend,
  flags: Flags,
): Promise<number> {
  const folder = textsOf(flags)["out"];
  if (folder === undefined) return 0;
  const key = openExportKey(readConfig(context, flags));
  mkdirSync(folder, { recursive: true });
  let written = 0;
  for (const period of await settlementStore.periods()) {
    const file = join(folder, periodFileName(period));
    if (existsSync(file)) continue;
    const statement = await settlementStore.statement(period);
    if (statement === undefined) continue;
    const rights = { mode: 0o600, flush: true };
    writeFileSync(`${file}.part`, signPeriod(statement, key), rights);
    renameSync(`${file}.part`, file);
    written += 1;
  }
  return written;
}

/** `settlement put-back` */
export function addPutBackCommand(settlement: Command, context: CommandContext): void {
  onStoredData(settlement.command("put-back"))
    .description(
      "after a restore, close again from their signed files the periods that were closed in the lost time",
    )
    .requiredOption("--from <folder>", "the folder of settlement close --out")
    .option("--public-key <file>", "PEM file of the key that is trusted (default this one's own)")
    .action(
      answering(context, (flags: Flags) => {
        const files = readFiles(context, flags);
        return withBackend(context, flags, (backend, by) => putBack(backend, files, by));
      }),
    );
}

type PeriodFile = Exclude<ReturnType<typeof readPeriodFile>, string>;

/** Oldest first: the periods of a provider are one chain. */
function readFiles(context: CommandContext, flags: Flags): readonly PeriodFile[] {
  const folder = String(flags["from"]);
  if (!existsSync(folder)) throw new UsageFault(`${folder}: there is no such folder; check --from`);
  const key = readExportKey(readConfig(context, flags), readText(flags, "public-key"));
  if (key === undefined) {
    throw new UsageFault("there is no key to check the files with; name it with --public-key");
  }
  const files = readdirSync(folder).filter((name) => /^period-.*\.json$/.test(name));
  return files
    .map((name) => {
      const file = readPeriodFile(readFileSync(join(folder, name), "utf8"), key);
      if (typeof file === "string") throw new UsageFault(`${join(folder, name)}: ${file}`);
      return file;
    })
    .sort((a, b) => a.startMs - b.startMs);
}

async function putBack(
  { settlementStore }: Backend,
  files: readonly PeriodFile[],
  by: ChangedBy,
): Promise<CommandAnswer> {
  const periods: object[] = [];
  const lines: string[] = [];
  let lost = 0n;
  for (const file of files) {
    const outcome = await settlementStore.putBack(file, by);
    if (!outcome.created) continue;
    const start = instant(file.startMs);
    const costUsd = formatExactUsd(picoUsd(outcome.lostPicoUsd));
    lost += outcome.lostPicoUsd;
    periods.push({
      provider_id: file.providerId,
      start,
      lost_attempts: Number(outcome.lostClaims),
      lost_usd: costUsd,
    });
    lines.push(
      `${file.providerId}  ${start}  put back, ${outcome.lostClaims} attempts lost, $${costUsd}`,
    );
  }
  const known = files.length - periods.length;
  return {
    json: { put_back: periods, known, lost_usd: formatExactUsd(picoUsd(lost)) },
    text: [...lines, `${periods.length} periods put back, ${known} were there`].join("\n"),
  };
}
