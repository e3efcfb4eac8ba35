import { Command, CommanderError } from "commander";

import { SecretFiles } from "../app/secret-files.ts";
import { programVersion } from "../app/shipped-files.ts";
import type { CommandContext, CommandIo, ExitCode } from "./command-context.ts";

/** Runs one command. Calls share no state. A call for a server returns when a signal stops it. */
export async function runCli(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const secrets = new SecretFiles(io.env);
  const setExitCode = (code: ExitCode): void => void (exitCode = code);
  const program = await commandLine({ ...io, env: secrets.env, secrets, setExitCode }, args[0]);
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (fault) {
    // Commander also throws for help and version, with exit code 0. Anything else that it throws
    // means wrong usage.
    if (!(fault instanceof CommanderError)) throw fault;
    return fault.exitCode === 0 ? 0 : 2;
  }
}

/**
 * If `first` names a command, only its module's commands and `version` are added, because loading
 * the code of all commands takes longer than most commands run.
 */
export async function commandLine(context: CommandContext, first = ""): Promise<Command> {
  // These settings come first, because a command copies them when it is added.
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
  if (first === "version" || first === "--version") return program;
  const named = COMMANDS.filter(([names]) => names.split(" ").includes(first));
  for (const [, load] of named.length > 0 ? named : COMMANDS) (await load())(program, context);
  return program;
}

type AddCommand = (program: Command, context: CommandContext) => void;

/** The names of the commands that each module adds. Help lists them in this order. */
const COMMANDS: readonly (readonly [names: string, load: () => Promise<AddCommand>])[] = [
  ["init", async () => (await import("./init-command.ts")).addInitCommand],
  ["serve dev", async () => (await import("./serve-command.ts")).addServeCommands],
  ["probe", async () => (await import("./probe-command.ts")).addProbeCommand],
  ["billing", async () => (await import("./billing-command.ts")).addBillingCommand],
  [
    "org member credit topup statement key limits endpoint connection unusual-use settlement changes",
    async () => (await import("./operation-command.ts")).addOperationGroups,
  ],
  ["console-link", async () => (await import("./console-link-command.ts")).addConsoleLinkCommand],
  ["manifest catalog", async () => (await import("./manifest-command.ts")).addManifestCommand],
  ["import", async () => (await import("./import-command.ts")).addImportCommand],
  ["conformance", async () => (await import("./conformance-command.ts")).addConformanceCommand],
  ["ledger", async () => (await import("./ledger-command.ts")).addLedgerCommand],
  ["simulate", async () => (await import("./simulate-command.ts")).addSimulateCommand],
  ["backup", async () => (await import("./backup-command.ts")).addBackupCommand],
  ["migrate", async () => (await import("./migrate-command.ts")).addMigrateCommand],
  ["doctor", async () => (await import("./doctor-command.ts")).addDoctorCommand],
];
