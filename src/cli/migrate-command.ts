import type { Command } from "commander";

import type { Backend } from "../app/index.ts";
import type { SchemaState } from "../kernel/index.ts";
import {
  answering,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  onStoredData,
} from "./command-context.ts";
import { withBackend } from "./with-backend.ts";

export function addMigrateCommand(program: Command, context: CommandContext): void {
  onStoredData(program.command("migrate"))
    .description("bring the database schema to this version, beside programs that serve")
    .option(
      "--check",
      "name the steps that would run and change nothing; exit 1 when there is one, 0 otherwise",
    )
    .action(answering(context, migrate));
}

async function migrate(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  if (flags["check"] !== true) return await withBackend(context, flags, migrated, "migrate");
  const work = async (backend: Backend): Promise<CommandAnswer> =>
    checkAnswer(await backend.readSchema());
  return await withBackend(context, flags, work, "any");
}

async function migrated(backend: Backend): Promise<CommandAnswer> {
  // Opening the stores has already migrated the schema. A second run shows that nothing is left.
  const left = await backend.migrate();
  const { migrated: ran } = backend;
  return {
    json: { ok: true, migrated: ran, left },
    text: ran.length === 0 ? "the schema is up to date" : `ran ${ran.join(", ")}`,
  };
}

function checkAnswer({ databaseLevel, programLevel, newer, missing }: SchemaState): CommandAnswer {
  const isCurrent = missing.length === 0;
  const names = missing.map(({ name }) => name);
  return {
    json: {
      ok: isCurrent,
      database_level: databaseLevel,
      program_level: programLevel,
      newer_steps: newer,
      missing_steps: names,
    },
    text: [
      `the database has level ${databaseLevel}, this program ${programLevel}`,
      ...(newer.length === 0 ? [] : [`it works with the newer ${newer.join(", ")}`]),
      isCurrent ? "no step is missing" : `\`tokenmarket migrate\` would run ${names.join(", ")}`,
    ].join("\n"),
  };
}
