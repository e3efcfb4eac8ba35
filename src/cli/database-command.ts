import type { Command } from "commander";

import { loadCatalog } from "../app/index.ts";
import type { FlaggedListing } from "../ledger/index.ts";
import {
  answering,
  clock,
  onStoredData,
  readConfig,
  withBackend,
  type CommandAnswer,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

interface Check {
  readonly id: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** `migrate`, `doctor` */
export function addDatabaseCommands(program: Command, context: CommandContext): void {
  onStoredData(program.command("migrate"))
    .description("migrate the database schema to this version")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(
          context,
          flags,
          async (backend) => {
            // Opening the stores has migrated already; a second run proves there is nothing left.
            const left = await backend.migrate();
            return {
              json: { ok: true, migrated: backend.migrated, left },
              text:
                backend.migrated.length === 0
                  ? "the schema is up to date"
                  : `ran ${backend.migrated.join(", ")}`,
            };
          },
          "migrate",
        ),
      ),
    );
  onStoredData(program.command("doctor"))
    .description("check configuration, manifests, database and books; exit 1 when a check fails")
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .action(answering(context, (flags: Flags) => examine(context, flags)));
}

async function examine(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const checks: Check[] = [
    nodeCheck(),
    manifestCheck(context, flags),
    ...(await databaseChecks(context, flags)),
  ];
  const ok = checks.every((check) => check.ok);
  return {
    json: { ok, checks },
    text: checks
      .map((check) => `${check.ok ? "ok    " : "BROKEN"}  ${check.id}  ${check.detail}`)
      .join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  return { id: "node", ok, detail: `${process.version} (needs 20.19 or newer; 24 is recommended)` };
}

function manifestCheck(context: CommandContext, flags: Flags): Check {
  const { manifestsDir, poolsFile, providerKeyOrigins } = readConfig(context, flags);
  const { env } = context;
  const loaded = loadCatalog({
    manifestsDir,
    poolsFile,
    providerKeyOrigins,
    env,
    clock,
    allowPrivateUpstreams: true,
  });
  if (loaded.ok) {
    const detail = `${loaded.catalog.models.length} models in ${manifestsDir}`;
    return { id: "manifests", ok: true, detail };
  }
  const detail = loaded.issues.map((each) => `${each.file}${each.pointer}: ${each.message}`);
  return { id: "manifests", ok: false, detail: detail.join("; ") };
}

/** As long as a broken report is worth a word to the provider. */
const FLAGGED_DAYS = 7;

async function databaseChecks(context: CommandContext, flags: Flags): Promise<readonly Check[]> {
  const checks: Check[] = [];
  try {
    await withBackend(context, flags, async (backend) => {
      const broken = (await backend.audit()).filter((check) => check.violations > 0);
      const ok = broken.length === 0;
      const detail = ok
        ? "it answers, and the books balance"
        : `failed checks: ${broken.map((each) => each.id).join(", ")}; run \`tokenmarket ledger audit\``;
      checks.push({ id: "database", ok, detail });
      checks.push(reportsCheck(await backend.flaggedListings(FLAGGED_DAYS)));
      return { json: {}, text: "" };
    });
    return checks;
  } catch (fault) {
    const detail = fault instanceof Error ? fault.message : String(fault);
    return [{ id: "database", ok: false, detail }];
  }
}

function reportsCheck(flagged: readonly FlaggedListing[]): Check {
  const listed = flagged.map(
    ({ flag, providerId, modelId, attempts }) => `${flag} ${providerId}/${modelId} (${attempts})`,
  );
  const detail =
    listed.length === 0
      ? `no impossible usage in the last ${FLAGGED_DAYS} days`
      : `implausible usage was not billed in the last ${FLAGGED_DAYS} days: ${listed.join(", ")}; ask the provider`;
  return { id: "usage reports", ok: listed.length === 0, detail };
}
