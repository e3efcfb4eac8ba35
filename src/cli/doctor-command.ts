import { existsSync } from "node:fs";
import type { Command } from "commander";

import { loadCatalog } from "../app/index.ts";
import type { Config } from "../kernel/index.ts";
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
  UsageFault,
} from "./command-context.ts";
import {
  addressChecks,
  databaseChecks,
  encryptionChecks,
  topUpChecks,
  unusableDatabase,
} from "./doctor/database-checks.ts";
import type {
  CheckGroup,
  CheckLevel,
  DatabaseCheckGroup,
  DoctorCheck,
  Examined,
} from "./doctor/doctor-check.ts";
import { listingChecks, manifestChecks } from "./doctor/manifest-checks.ts";
import { withBackend } from "./with-backend.ts";

/** The groups in the order of the report. A new group is a file in `doctor/` and an entry here. */
const GROUPS: readonly CheckGroup[] = [programChecks, addressChecks, manifestChecks];
const DATABASE_GROUPS: readonly DatabaseCheckGroup[] = [
  databaseChecks,
  listingChecks,
  encryptionChecks,
  topUpChecks,
];

export function addDoctorCommand(program: Command, context: CommandContext): void {
  onStoredData(program.command("doctor"))
    .description(
      "check configuration, manifests, keys, database, books and listings; exit 1 when something does not work, 0 for warnings",
    )
    .option(...OPTIONS.manifests)
    .action(answering(context, examine));
}

async function examine(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const { env, secrets } = context;
  let config: Config;
  try {
    config = readConfig(context, flags);
  } catch (fault) {
    // An invalid configuration is a finding of the doctor, but if `--config` names a missing file,
    // the command was used wrongly.
    const { config: file } = pickTexts(flags);
    const isMissing = file !== undefined && !existsSync(file);
    if (!(fault instanceof UsageFault) || isMissing) throw fault;
    return renderAnswer([{ id: "configuration", level: "problem", detail: fault.message }]);
  }
  const loaded = loadCatalog({ ...config, env, fileProblems: secrets.problems, clock });
  const examined = { env, config, loaded };
  const checks = GROUPS.flatMap((group) => group(examined));
  return renderAnswer([...checks, ...(await databaseGroups(context, flags, examined))]);
}

async function databaseGroups(
  context: CommandContext,
  flags: Flags,
  examined: Examined,
): Promise<readonly DoctorCheck[]> {
  try {
    return await withBackend(context, flags, async (backend) => {
      const checks: DoctorCheck[] = [];
      for (const group of DATABASE_GROUPS) checks.push(...(await group(examined, backend)));
      return checks;
    });
  } catch (fault) {
    return [unusableDatabase(fault)];
  }
}

const MARKS: Readonly<Record<CheckLevel, string>> = {
  ok: "ok     ",
  warning: "warning",
  problem: "BROKEN ",
};

function renderAnswer(checks: readonly DoctorCheck[]): CommandAnswer {
  const ok = checks.every(({ level }) => level !== "problem");
  const warnings = checks.filter(({ level }) => level === "warning").length;
  const judged = checks.map((each) => ({ ...each, ok: each.level !== "problem" }));
  return {
    json: { ok, warnings, checks: judged },
    text: checks.map(({ id, level, detail }) => `${MARKS[level]}  ${id}  ${detail}`).join("\n"),
  };
}

/** Checks the version of Node.js; `examine` calls this only if the configuration is valid. */
function programChecks(): readonly DoctorCheck[] {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const level = major > 20 || (major === 20 && minor >= 19) ? "ok" : "problem";
  return [
    { id: "node", level, detail: `${process.version} (needs 20.19 or newer; 26 is the fastest)` },
    { id: "configuration", level: "ok", detail: "every setting is valid" },
  ];
}
