import { existsSync, readFileSync } from "node:fs";
import type { Command } from "commander";
import { userInfo } from "node:os";

import {
  type Backend,
  type BackendOptions,
  type Logging,
  openBackend,
  openLogging,
} from "../app/index.ts";
import {
  SchemaBusyFault,
  type ChangedBy,
  type Config,
  type Environment,
  loadConfig,
  secretsIn,
  listSecrets,
  type SettingName,
  systemClock,
  byOperator,
} from "../kernel/index.ts";
import type { CommandContext, CommandIo, ExitCode } from "./command-io.ts";
import { plainText } from "./plain-text.ts";

/** A wrong call: its message goes to standard error, the exit code is 2. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

/** The result of a command: one JSON document, and the same as a text. */
export interface CommandAnswer {
  readonly json: unknown;
  /** Default: the document as aligned lines. */
  readonly text?: string;
  readonly exitCode?: ExitCode;
}

/** Flags of the command line by the setting they set. */
const FLAG_SETTINGS: Readonly<Record<string, SettingName>> = {
  port: "port",
  consolePort: "consolePort",
  internalPort: "internalPort",
  host: "host",
  data: "dataDir",
  manifests: "manifestsDir",
};

export type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** The flags that were given with a text. */
export function pickTexts(flags: Flags): Readonly<Record<string, string | undefined>> {
  const texts = Object.entries(flags).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts) as Record<string, string>;
}

/** Variables with what the files of secrets say, and why one of those cannot be used. */
export interface SecretSource {
  readonly env: Environment;
  readonly problems: ReadonlyMap<string, string>;
}

type Forced = Partial<Record<SettingName, string | number | boolean>>;

/** Reads the configuration of a command, or says everything that is wrong with it. */
export function readConfig(
  { secrets }: { readonly secrets: SecretSource },
  flags: Flags,
  forced: Forced = {},
): Config {
  const { config: named } = pickTexts(flags);
  if (named !== undefined && !existsSync(named)) {
    throw new UsageFault(`${named}: there is no such file; check --config`);
  }
  const file = findSettingsFile(flags);
  const outcome = loadConfig({
    flags: { ...forced, ...pickSettings(flags) },
    env: secrets.env,
    fileProblems: secrets.problems,
    ...(existsSync(file) ? { yamlText: readFileSync(file, "utf8") } : {}),
  });
  if (outcome.kind === "invalid") throw new UsageFault(outcome.problems.join("\n"));
  return outcome.config;
}

/** The file that settings are read from, where there is one. */
export function findSettingsFile(flags: Flags): string {
  return pickTexts(flags)["config"] ?? "tokenmarket.yaml";
}

/** Logging of a command, with every secret it knows blanked out. */
export function openCommandLogging(io: CommandIo, config: Config, quiet = false): Logging {
  const secrets = [...secretsIn(io.env), ...listSecrets(config)];
  const level = quiet && config.logLevel === "info" ? "warn" : config.logLevel;
  return openLogging({ level, secrets, output: io.stderr });
}

/** Runs `work` on the stores of a data folder or database, server up or down, and closes them. */
export async function withBackend(
  io: CommandContext,
  flags: Flags,
  work: (backend: Backend, by: ChangedBy) => Promise<CommandAnswer>,
  schema: NonNullable<BackendOptions["schema"]> = "check",
): Promise<CommandAnswer> {
  const config = readConfig(io, flags);
  const by = readAuthor(flags);
  const logging = openCommandLogging(io, config, true);
  const backend = await openBackend({ config, ...logging, schema, by });
  try {
    return await work(backend, by);
  } finally {
    await backend.close();
    logging.flush();
  }
}

/**
 * The person who runs the command, as the author of its changes: the user of the machine, with the
 * name that `--by` gives where several people share that user.
 */
export function readAuthor(flags: Flags): ChangedBy {
  const named = pickTexts(flags)["by"];
  const user = userOfMachine();
  if (named === undefined) return byOperator(user);
  if (NAME.test(named) && named.length <= NAME_CHARS_MAX) return byOperator(`${named} (${user})`);
  throw new UsageFault(
    `--by must be a name of at most ${NAME_CHARS_MAX} letters, digits, spaces and . _ @ -`,
  );
}

/** Adds the options of every command that works on stored data. */
export function onStoredData(command: Command): Command {
  return command
    .option("--data <folder>", "folder of the embedded PostgreSQL (default ./data)")
    .option("--config <file>", "configuration file (default tokenmarket.yaml, if it exists)")
    .option("--by <name>", "who you are, for the change log, beside the user of this machine")
    .option("--json", "print one JSON document on standard output");
}

/** Wraps a command: prints its answer, turns faults into messages and exit codes. */
export function answering<A extends unknown[]>(
  context: CommandContext,
  run: (...input: A) => Promise<CommandAnswer> | CommandAnswer,
): (...input: A) => Promise<void> {
  return async (...input) => {
    try {
      const answer = await run(...input);
      const flags = input.find(isFlags) ?? {};
      const text =
        flags["json"] === true
          ? JSON.stringify(answer.json)
          : (answer.text ?? plainText(answer.json));
      if (text !== "") context.stdout.write(`${text}\n`);
      context.setExitCode(answer.exitCode ?? 0);
    } catch (fault) {
      reportFault(context, fault);
      context.setExitCode(chooseExitCode(fault));
    }
  };
}

/** What was proved, a line for each; exit code 1 where something was not. */
export function answerChecks(
  checks: readonly { readonly id: string; readonly ok: boolean; readonly detail: string }[],
  more: object = {},
): CommandAnswer {
  const ok = checks.every((check) => check.ok);
  return {
    json: { ok, ...more, checks },
    text: checks
      .map(({ id, ok: isGood, detail }) => `${isGood ? "ok    " : "BROKEN"}  ${id}  ${detail}`)
      .join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

/** Says what went wrong on standard error; a stack only for unexpected errors. */
export function reportFault({ env, stderr }: CommandIo, fault: unknown): void {
  const error = fileFault(fault) ?? (fault instanceof Error ? fault : new Error(String(fault)));
  const foreseen = error.name.endsWith("Fault") && error.name !== "AssertionFault";
  const detail = foreseen || env["LOG_LEVEL"] !== "debug" ? error.message : error.stack;
  stderr.write(`tokenmarket: ${detail ?? error.message}\n`);
}

/** A file that could not be opened, as a sentence with the next step. */
function fileFault(fault: unknown): UsageFault | undefined {
  const { code = "", syscall, path } = fault as NodeJS.ErrnoException;
  const problem = FILE_PROBLEMS[code];
  if (syscall !== "open" || path === undefined || problem === undefined) return undefined;
  return new UsageFault(`${path}: ${problem}`);
}

const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  EEXIST: "is there already, and is not replaced; name another file",
  ENOENT: "there is no such file or folder; check the name",
  EISDIR: "is a folder; name a file",
  EACCES: "this user may not open it; check its permissions",
};

/** 1: nothing is wrong with the call, and a later one may pass. */
export function chooseExitCode(fault: unknown): ExitCode {
  return fault instanceof SchemaBusyFault ? 1 : 2;
}

export const clock: typeof systemClock = systemClock;

function pickSettings(flags: Flags): Partial<Record<SettingName, string | boolean | undefined>> {
  return Object.fromEntries(
    Object.entries(FLAG_SETTINGS).map(([flag, setting]) => [setting, flags[flag]]),
  );
}

function isFlags(value: unknown): value is Flags {
  return typeof value === "object" && value !== null && value.constructor === Object;
}

const NAME_CHARS_MAX = 64;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]*$/u;

/** A user id that has no name, as in a container, is its number. */
function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
