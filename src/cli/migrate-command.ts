import type { Command } from "commander";

import type { Backend, SchemaPlan } from "../app/index.ts";
import {
  answering,
  type CommandAnswer,
  type Flags,
  onStoredData,
  UsageFault,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/** `migrate` */
export function addMigrateCommand(program: Command, context: CommandContext): void {
  onStoredData(program.command("migrate"))
    .description("bring the database schema to this version, beside programs that serve")
    .option("--plan", "print the steps that would run and what they make wait; change nothing")
    .option("--check", "exit 1 when a step is missing, 0 otherwise; change nothing")
    .action(answering(context, (flags: Flags) => migrate(context, flags)));
}

async function migrate(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const [isPlan, isCheck] = [flags["plan"] === true, flags["check"] === true];
  if (isPlan && isCheck) throw new UsageFault("--plan, --check: give one of them");
  if (isPlan || isCheck) {
    const work = async (backend: Backend): Promise<CommandAnswer> =>
      planAnswer(await backend.planMigration(), isCheck);
    return await withBackend(context, flags, work, "any");
  }
  return await withBackend(context, flags, migrated, "migrate");
}

async function migrated(backend: Backend): Promise<CommandAnswer> {
  // Opening the stores has migrated already; a second run proves there is nothing left.
  const left = await backend.migrate();
  const { migrated: ran } = backend;
  return {
    json: { ok: true, migrated: ran, left },
    text: ran.length === 0 ? "the schema is up to date" : `ran ${ran.join(", ")}`,
  };
}

function planAnswer({ state, steps }: SchemaPlan, isCheck: boolean): CommandAnswer {
  const { databaseLevel, programLevel, newer, isAdopted } = state;
  const isCurrent = steps.length === 0 && isAdopted;
  return {
    json: {
      ok: isCurrent || !isCheck,
      pending: !isCurrent,
      database_level: databaseLevel,
      program_level: programLevel,
      newer_steps: newer,
      steps: steps.map(({ name, level, programMin, locks }) => ({
        name,
        level,
        program_min: programMin,
        locks,
      })),
    },
    text: [
      `the database has level ${databaseLevel}, this program ${programLevel}`,
      ...(newer.length === 0 ? [] : [`it works with the newer ${newer.join(", ")}`]),
      ...(isCurrent ? ["no step is missing"] : pendingLines(steps)),
    ].join("\n"),
    exitCode: isCheck && !isCurrent ? 1 : 0,
  };
}

function pendingLines(steps: SchemaPlan["steps"]): readonly string[] {
  if (steps.length === 0) return ["`tokenmarket migrate` would complete the list of steps"];
  return [
    "`tokenmarket migrate` would run, in this order:",
    ...steps.flatMap(({ name, programMin, locks }) => [
      `  ${name} (for programs of level ${programMin} and higher)`,
      ...locks.map((each) => `    ${each}`),
    ]),
  ];
}
