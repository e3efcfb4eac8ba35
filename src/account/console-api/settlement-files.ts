import type { KeyObject } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { Static } from "typebox";

import { type ChangedBy, formatExactUsd, picoUsd, type SigningKey } from "../../kernel/index.ts";
import {
  periodFileName,
  readPeriodFile,
  type SettlementStore,
  signPeriod,
} from "../../ledger/index.ts";
import type { CommandDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal } from "./console-refusal.ts";
import { type PutBack, PutBackPeriod } from "./contract/commands.ts";
import type { Handlers } from "./handler.ts";
import { present } from "./present.ts";

export function settlementFiles({
  settlement,
  exportKey,
}: CommandDeps): Handlers<"settlement export" | "settlement put-back"> {
  return {
    "settlement export": async ({ body: { out } }) => ({
      files_written: await exportPeriods(settlement, out, exportKey.open()),
    }),
    "settlement put-back": async ({ body: { from, public_key: keyFile }, by }) => {
      if (!existsSync(from)) return conflict(`${from}: there is no such folder; check --from`);
      const key = exportKey.read(keyFile);
      if (key === undefined) return NO_KEY;
      const files = readFiles(from, key);
      return files instanceof ConsoleRefusal ? files : await putBack(settlement, files, by);
    },
  };
}

const NO_KEY = conflict("there is no key to check the files with; name it with --public-key");

/** Writes a signed file for each closed period that has none in `folder`; returns how many. */
async function exportPeriods(
  settlement: SettlementStore,
  folder: string,
  key: SigningKey,
): Promise<number> {
  mkdirSync(folder, { recursive: true });
  let written = 0;
  for (const period of await settlement.periods()) {
    const file = join(folder, periodFileName(period));
    if (existsSync(file)) continue;
    const statement = await settlement.statement(period);
    if (statement === undefined) continue;
    const rights = { mode: 0o600, flush: true };
    writeFileSync(`${file}.part`, signPeriod(statement, key), rights);
    renameSync(`${file}.part`, file);
    written += 1;
  }
  return written;
}

type PeriodFile = Parameters<SettlementStore["putBack"]>[0];

/** Reads the signed files. Returns the oldest period first: a provider's periods form a chain. */
function readFiles(folder: string, key: KeyObject): readonly PeriodFile[] | ConsoleRefusal {
  const files: PeriodFile[] = [];
  for (const name of readdirSync(folder).filter((each) => /^period-.*\.json$/.test(each))) {
    const path = join(folder, name);
    const read = readPeriodFile(readFileSync(path, "utf8"), key);
    if (!read.ok) return conflict(`${path}: ${read.problem}`);
    files.push(read.document);
  }
  return files.toSorted((a, b) => a.startMs - b.startMs);
}

async function putBack(
  settlement: SettlementStore,
  files: readonly PeriodFile[],
  by: ChangedBy,
): Promise<Static<typeof PutBack>> {
  const put_back: Static<typeof PutBackPeriod>[] = [];
  let lost = 0n;
  for (const file of files) {
    const outcome = await settlement.putBack(file, by);
    if (!outcome.created) continue;
    lost += outcome.lostPicoUsd;
    const lost_attempts = Number(outcome.lostClaims);
    put_back.push(present(PutBackPeriod, { ...file, ...outcome }, { lost_attempts }));
  }
  const known = files.length - put_back.length;
  return { put_back, known, lost_usd: formatExactUsd(picoUsd(lost)) };
}
