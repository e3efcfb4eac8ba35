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
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readText } from "./read-flags.ts";

/** `settlement export`, `settlement put-back`: closed periods as signed files. */
export function addSettlementFiles(settlement: Command, context: CommandContext): void {
  onStoredData(settlement.command("export"))
    .description("write each closed period to a signed file, to put back after a restore")
    .requiredOption("--out <folder>", "the folder; files that are there already stay")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => exportPeriods(context, backend, flags)),
      ),
    );
  onStoredData(settlement.command("put-back"))
    .description(
      "after a restore, close again from their signed files the periods that were closed in the lost time",
    )
    .requiredOption("--from <folder>", "the folder of settlement export --out")
    .option("--public-key <file>", "PEM file of the key that is trusted (default this one's own)")
    .action(
      answering(context, (flags: Flags) => {
        const files = readFiles(context, flags);
        return withBackend(context, flags, (backend, by) => putBack(backend, files, by));
      }),
    );
}

/** Every closed period that the folder has no file of, signed with the export key. */
async function exportPeriods(
  context: CommandContext,
  { settlementStore }: Backend,
  flags: Flags,
): Promise<CommandAnswer> {
  const folder = String(flags["out"]);
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
  return { json: { files_written: written } };
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
  let lost = 0n;
  for (const file of files) {
    const outcome = await settlementStore.putBack(file, by);
    if (!outcome.created) continue;
    lost += outcome.lostPicoUsd;
    periods.push({
      provider_id: file.providerId,
      start: instant(file.startMs),
      lost_attempts: Number(outcome.lostClaims),
      lost_usd: formatExactUsd(picoUsd(outcome.lostPicoUsd)),
    });
  }
  const known = files.length - periods.length;
  return { json: { put_back: periods, known, lost_usd: formatExactUsd(picoUsd(lost)) } };
}
