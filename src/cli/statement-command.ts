import type { Command } from "commander";

import { instantOrNull } from "../kernel/index.ts";
import type { Backend } from "../app/index.ts";
import { parseMonth, statementCsv } from "../account/index.ts";
import {
  answering,
  onStoredData,
  UsageFault,
  withBackend,
  type CommandAnswer,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { knownOrg } from "./stored-command.ts";

/** `statement` */
export function addStatementCommand(program: Command, context: CommandContext): void {
  onStoredData(program.command("statement"))
    .description("print one month's statement of an organization; a month that is over is closed")
    .requiredOption("--org <id>", "the organization")
    .requiredOption("--month <month>", "a UTC month such as 2026-10")
    .option("--csv", "as a table")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => statement(backend, flags)),
      ),
    );
}

async function statement(backend: Backend, flags: Flags): Promise<CommandAnswer> {
  const { statementStore } = backend;
  const month = parseMonth(String(flags["month"]));
  if (month === undefined) throw new UsageFault("--month must be a UTC month such as 2026-10");
  const org = await knownOrg(backend, flags["org"]);
  let found = await statementStore.read(org.orgId, month);
  while (found === "later") found = await statementStore.read(org.orgId, month);
  if (found === "unknown") {
    throw new UsageFault(`${org.orgId} has no month ${month}: it did not exist, or is to come`);
  }
  const { document, differences } = found;
  return {
    json: {
      state: found.state,
      number: found.number,
      closed_at: instantOrNull(found.closedAtMs),
      sha256: found.sha256,
      differences,
      ...document,
    },
    ...(flags["csv"] === true && { text: statementCsv(found).trimEnd() }),
    exitCode: differences.length === 0 ? 0 : 1,
  };
}
