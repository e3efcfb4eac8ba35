import { existsSync, readFileSync } from "node:fs";
import type { Command } from "commander";

import {
  SchemaBusyFault,
  type Config,
  type Environment,
  loadConfig,
  type SettingName,
  systemClock,
} from "../kernel/index.ts";
import type { CommandContext, CommandIo, ExitCode } from "./command-io.ts";
import { plainText } from "./plain-text.ts";

/** A wrong call of a command. Its message goes to standard error, and the exit code is 2. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

export interface CommandAnswer {
  readonly json: unknown;
  /** Default: `json` as aligned lines and tables. */
  readonly text?: string;
  readonly exitCode?: ExitCode;
}

const FLAG_SETTINGS: Readonly<Record<string, SettingName>> = {
  port: "port",
  consolePort: "consolePort",
  internalPort: "internalPort",
  host: "host",
  data: "dataDir",
  manifests: "manifestsDir",
};

export type Flags = Readonly<Record<string, string | boolean | undefined>>;

export function pickTexts(flags: Flags): Readonly<Record<string, string | undefined>> {
  const texts = Object.entries(flags).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts) as Record<string, string>;
}

/** The environment with secrets read from files, and the problems with these files, by variable. */
export interface SecretSource {
  readonly env: Environment;
  readonly problems: ReadonlyMap<string, string>;
}

type Forced = Partial<Record<SettingName, string | number | boolean>>;

/** Reads the configuration; throws a `UsageFault` that lists all its problems. */
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
    ...(existsSync(file) ? { yamlText: readFileSync(file, "utf8"), yamlFile: file } : {}),
  });
  if (outcome.kind === "invalid") throw new UsageFault(outcome.problems.join("\n"));
  return outcome.config;
}

/** The path of the configuration file. The file need not exist. */
export function findSettingsFile(flags: Flags): string {
  return pickTexts(flags)["config"] ?? "tokenmarket.yaml";
}

/** Options that several commands share, for `command.option(...DATA_OPTION)`. */
export const DATA_OPTION = [
  "--data <folder>",
  "folder of the embedded PostgreSQL (default ./data)",
] as const;
export const CONFIG_OPTION = [
  "--config <file>",
  "configuration file (default tokenmarket.yaml, if it exists)",
] as const;
export const MANIFESTS_OPTION = [
  "--manifests <folder>",
  "folder of provider manifests (default ./manifests)",
] as const;
export const PUBLIC_KEY_OPTION = [
  "--public-key <file>",
  "PEM file of the key that is trusted (default this one's own)",
] as const;
export const JSON_OPTION = ["--json", "print one JSON document on standard output"] as const;

export function onStoredData(command: Command): Command {
  return command
    .option(...DATA_OPTION)
    .option(...CONFIG_OPTION)
    .option("--by <name>", "who you are, for the change log, beside the user of this machine")
    .option(...JSON_OPTION);
}

/** Wraps a command: prints its answer, and turns faults into messages and exit codes. */
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

/**
 * Writes a fault to standard error. The stack is written only if the fault is unexpected and the
 * log level is debug.
 */
export function reportFault({ env, stderr }: CommandIo, fault: unknown): void {
  const error = fileFault(fault) ?? (fault instanceof Error ? fault : new Error(String(fault)));
  const foreseen = error.name.endsWith("Fault") && error.name !== "AssertionFault";
  const detail = foreseen || env["LOG_LEVEL"] !== "debug" ? error.message : error.stack;
  stderr.write(`tokenmarket: ${detail ?? error.message}\n`);
}

/** Replaces a failure to open a file by a sentence with the next step; else undefined. */
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

/** Returns 1 if the call was right and may succeed later, else 2. */
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
