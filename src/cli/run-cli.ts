import { Command, CommanderError } from "commander";

import { addBackupCommand } from "./backup-command.ts";
import type { CommandContext, CommandIo, ExitCode } from "./command-io.ts";
import { addChangesCommand } from "./changes-command.ts";
import { programVersion, SecretFiles } from "../app/index.ts";
import { addBillingCommand } from "./billing-command.ts";
import { addConformanceCommand } from "./conformance-command.ts";
import { addConnectionReseal } from "./connection-reseal-command.ts";
import { addConsoleLinkCommand } from "./console-link-command.ts";
import { addCreditCommand } from "./credit-command.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addEndpointCommand } from "./endpoint-command.ts";
import { addImportCommand } from "./import-command.ts";
import { addInitCommand } from "./init-command.ts";
import { addLedgerCommand } from "./ledger-command.ts";
import { addLimitsCommand } from "./limits-command.ts";
import { addManifestCommand } from "./manifest-command.ts";
import { addMemberCommand } from "./member-command.ts";
import { addMigrateCommand } from "./migrate-command.ts";
import { addOperations } from "./operation-command.ts";
import { addOrgCommand } from "./org-command.ts";
import { addProbeCommand } from "./probe-command.ts";
import { addServeCommands } from "./serve-command.ts";
import { addSettlementCommand } from "./settlement-command.ts";
import { addSimulateCommand } from "./simulate-command.ts";
import { addTopupCommand } from "./topup-command.ts";
import { addStatementCommand } from "./statement-command.ts";

/**
 * Runs `tokenmarket <args>` to its end and resolves with its exit code; a server ends when a signal
 * stops it. Runs do not share state, so several may be under way in one process.
 */
export async function runCli(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const secrets = new SecretFiles(io.env);
  const program = commandLine({
    ...io,
    env: secrets.env,
    secrets,
    setExitCode: (code) => {
      exitCode = code;
    },
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (fault) {
    // Help and version end here too; whatever commander refuses is a wrong call.
    if (!(fault instanceof CommanderError)) throw fault;
    return fault.exitCode === 0 ? 0 : 2;
  }
}

/** The whole command line; the change log's test walks it. */
export function commandLine(context: CommandContext): Command {
  // Commands take these settings over when they are added, so they come first.
  const program = new Command("tokenmarket")
    .description("A prepaid gateway in front of many AI model providers.")
    .version(programVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
    });
  program
    .command("version")
    .description("print the version, as --version does")
    .action(() => void context.stdout.write(`${programVersion()}\n`));
  addInitCommand(program, context);
  addServeCommands(program, context);
  addProbeCommand(program, context);
  addOrgCommand(program, context);
  addMemberCommand(program, context);
  addBillingCommand(program, context);
  addCreditCommand(program, context);
  addTopupCommand(program, context);
  addStatementCommand(program, context);
  addOperations(program.command("key").description("create and manage virtual keys"), context);
  addLimitsCommand(program, context);
  addEndpointCommand(program, context);
  const connection = program
    .command("connection")
    .description("customers' own provider keys, used instead of the marketplace's keys");
  addOperations(connection, context);
  addConnectionReseal(connection, context);
  addOperations(
    program
      .command("unusual-use")
      .description("list and lift restrictions after unusual use on trial credit"),
    context,
  );
  addConsoleLinkCommand(program, context);
  addManifestCommand(program, context);
  addImportCommand(program, context);
  addConformanceCommand(program, context);
  addLedgerCommand(program, context);
  addSettlementCommand(program, context);
  addChangesCommand(program, context);
  addSimulateCommand(program, context);
  addBackupCommand(program, context);
  addMigrateCommand(program, context);
  addDoctorCommand(program, context);
  return program;
}
