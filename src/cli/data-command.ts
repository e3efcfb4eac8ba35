import type { Command } from "commander";

import { databaseAddress, databasePassword } from "../app/index.ts";
import { copyData } from "../backup/index.ts";
import { formatUsd, microUsd } from "../core/index.ts";
import {
  answering,
  type CommandAnswer,
  type Flags,
  onStoredData,
  openCommandLogging,
  readConfig,
  UsageFault,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/** `data copy` */
export function addDataCommand(program: Command, context: CommandContext): void {
  const data = program.command("data").description("move the data to another database");
  onStoredData(data.command("copy"))
    .description(
      "copy every row to an empty PostgreSQL with the same tables, compare counts and sums, audit both; nothing may serve meanwhile",
    )
    .requiredOption("--to <url>", "postgres://user@host/database; PGPASSWORD may have the password")
    .action(answering(context, (flags: Flags) => copy(context, flags)));
}

async function copy(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const to = flags["to"];
  if (typeof to !== "string" || !/^postgres(?:ql)?:\/\//.test(to)) {
    throw new UsageFault(
      "--to must be the URL of a PostgreSQL database: postgres://user@host/name",
    );
  }
  const config = readConfig(context, flags);
  return await withBackend(context, flags, async ({ embedded }, by) => {
    const logging = openCommandLogging(context, config, true);
    const password = databasePassword(config, logging.hide);
    const { tables, sums } = await copyData({
      from: embedded?.connectionString ?? databaseAddress(config.databaseUrl, password),
      to,
      log: logging.log,
      by,
      onProgress: (line) => void context.stderr.write(`${line}\n`),
    });
    logging.flush();
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const credits = formatUsd(microUsd(sums.credits));
    return {
      json: {
        ok: true,
        rows,
        accounts: Number(sums.accounts),
        credits_usd: credits,
        tables: tables.map((table) => ({ name: table.name, rows: table.rows })),
      },
      text:
        `${rows} rows of ${tables.length} tables copied; counts and sums are equal, both books balance\n` +
        "next: start every program with DATABASE_URL set to the copy, and keep the old data unused",
    };
  });
}
