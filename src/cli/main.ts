#!/usr/bin/env node
import { readFileSync } from "node:fs";

import { Command, CommanderError } from "commander";

import { addConnectionCommand } from "./connection-command.ts";
import { addConsoleLinkCommand } from "./console-link-command.ts";
import { addCreditCommand } from "./credit-command.ts";
import { addDatabaseCommands } from "./database-command.ts";
import { addEndpointCommand } from "./endpoint-command.ts";
import { addKeyCommand } from "./key-command.ts";
import { addLedgerCommand } from "./ledger-command.ts";
import { addLimitsCommand } from "./limits-command.ts";
import { addManifestCommand } from "./manifest-command.ts";
import { addOrgCommand } from "./org-command.ts";
import { addServeCommands } from "./serve-command.ts";
import { addSettlementCommand } from "./settlement-command.ts";
import { addSimulateCommand } from "./simulate-command.ts";
import { addUnusualUseCommand } from "./unusual-use-command.ts";

const program = new Command("tokenmarket")
  .description("A prepaid gateway in front of many AI model providers.")
  .version(readVersion())
  .exitOverride();

addServeCommands(program);
addOrgCommand(program);
addCreditCommand(program);
addKeyCommand(program);
addLimitsCommand(program);
addEndpointCommand(program);
addConnectionCommand(program);
addUnusualUseCommand(program);
addConsoleLinkCommand(program);
addManifestCommand(program);
addLedgerCommand(program);
addSettlementCommand(program);
addSimulateCommand(program);
addDatabaseCommands(program);
for (const command of everyCommand(program)) command.exitOverride();

try {
  await program.parseAsync(process.argv);
} catch (fault) {
  // Help and version end here too; whatever commander refuses is a wrong call.
  if (!(fault instanceof CommanderError)) throw fault;
  process.exitCode = fault.exitCode === 0 ? 0 : 2;
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((each) => [each, ...everyCommand(each)]);
}

function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
