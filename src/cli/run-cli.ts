import { Command, CommanderError } from "commander";

import { addBackupCommand } from "./backup-command.ts";
import type { CommandContext, CommandIo, ExitCode } from "./command-io.ts";
import { programVersion, SecretFiles } from "../app/index.ts";
import { addBillingCommand } from "./billing-command.ts";
import { addChangesVerify } from "./changes-verify-command.ts";
import { addConformanceCommand } from "./conformance-command.ts";
import { addConsoleLinkCommand } from "./console-link-command.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addImportCommand } from "./import-command.ts";
import { addInitCommand } from "./init-command.ts";
import { addLedgerCommand } from "./ledger-command.ts";
import { addManifestCommand } from "./manifest-command.ts";
import { addMigrateCommand } from "./migrate-command.ts";
import { addOperations } from "./operation-command.ts";
import { addProbeCommand } from "./probe-command.ts";
import { addServeCommands } from "./serve-command.ts";
import { addSimulateCommand } from "./simulate-command.ts";

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
  addBillingCommand(program, context);
  for (const [name, description, addMore] of GROUPS) {
    const group = program.command(name).description(description);
    addOperations(group, context);
    addMore?.(group, context);
  }
  addConsoleLinkCommand(program, context);
  addManifestCommand(program, context);
  addImportCommand(program, context);
  addConformanceCommand(program, context);
  addLedgerCommand(program, context);
  addSimulateCommand(program, context);
  addBackupCommand(program, context);
  addMigrateCommand(program, context);
  addDoctorCommand(program, context);
  return program;
}

/** Groups of operations, with what is beside those: work on files of this machine. */
const GROUPS: readonly (readonly [
  name: string,
  description: string,
  addMore?: (group: Command, context: CommandContext) => void,
])[] = [
  ["org", "create and manage organizations"],
  ["member", "the people of an organization and their roles in the console"],
  ["credit", "grant credit and show wallets"],
  ["topup", "automatic top-up of organizations"],
  ["statement", "the monthly statements of an organization"],
  ["key", "create and manage virtual keys"],
  ["limits", "set and show the limits of an organization"],
  ["endpoint", "dedicated endpoints: a private manifest as capacity of one organization"],
  ["connection", "customers' own provider keys, used instead of the marketplace's keys"],
  ["unusual-use", "list and lift restrictions after unusual use on trial credit"],
  ["settlement", "settle what is owed to providers"],
  ["changes", "the change log: who changed what, when and from where", addChangesVerify],
];
