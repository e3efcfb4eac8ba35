import { existsSync, readFileSync } from "node:fs";

import type { Command } from "commander";

import {
  asObject,
  type Clock,
  type Config,
  Fault,
  isDay,
  loadConfig,
  type MicroUsd,
  parseUsd,
  SchemaBusyFault,
  type SettingName,
  systemClock,
} from "../kernel/index.ts";
import { plainText } from "./plain-text.ts";
import type { SecretFiles, SecretReading, TextOutput } from "../app/index.ts";

/**
 * 0: success. 1: a check failed, part of the work was not done, or the command may succeed later.
 * 2: wrong usage, a fault, or no clear answer. 3: a manifest of `conformance` is not valid.
 */
export type ExitCode = 0 | 1 | 2 | 3;

export type StandardInput = AsyncIterable<unknown> & { readonly isTTY?: boolean };

/**
 * The streams and environment of the process. Commands get them from here, so that a caller in the
 * same process can run them like a function.
 */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Opens standard input, only to read from it: an open input can keep a process alive. */
  readonly stdin: () => StandardInput;
  readonly stdout: NodeJS.WritableStream;
  /** Receives messages and log lines. `isTTY`: a person reads the output while it is written. */
  readonly stderr: TextOutput & { readonly isTTY?: boolean | undefined };
  /** Ends the process although something is still open. Only servers call this. */
  readonly exit: (code: ExitCode) => void;
}

export interface CommandContext extends CommandIo {
  readonly secrets: SecretFiles;
  readonly setExitCode: (code: ExitCode) => void;
}

/** Ends a server's run, although its sockets and timers are still open. */
export function endServer(context: CommandContext, code: ExitCode): void {
  context.setExitCode(code);
  context.exit(code);
}

const SAME_SIGNAL_MS = 1_000;

/**
 * Returns a listener to signals: the first one stops a server, a later one ends it at once. Signals
 * within a second of the first are the same Ctrl-C: a terminal sends it to the program and to npm,
 * and npm passes it on.
 */
export function makeStopListener(
  stop: () => void,
  end: () => void,
  clock: Pick<Clock, "monotonicMs"> = systemClock,
): () => void {
  let firstMs: number | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (firstMs !== undefined && nowMs - firstMs >= SAME_SIGNAL_MS) end();
    if (firstMs === undefined) stop();
    firstMs ??= nowMs;
  };
}

/** Wrong usage of a command. Its message goes to standard error, and the exit code is 2. */
export class UsageFault extends Fault {}

export interface CommandAnswer {
  readonly json: unknown;
  /** Default: `json` as aligned lines and tables. */
  readonly text?: string;
  /** Default: 1 if `ok` of `json` is false, else 0. */
  readonly exitCode?: ExitCode;
  /** Work that runs after the answer was written. */
  readonly next?: () => Promise<void>;
}

export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export function pickTexts(flags: Flags): Readonly<Record<string, string | undefined>> {
  const texts = Object.entries(flags).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts) as Record<string, string>;
}

/** Reads the configuration; throws a `UsageFault` that lists all its problems. */
export function readConfig(
  { secrets }: { readonly secrets: Pick<SecretReading, "env" | "problems"> },
  flags: Flags,
  forced: Partial<Record<SettingName, boolean>> = {},
): Config {
  const { config: named } = pickTexts(flags);
  if (named !== undefined && !existsSync(named)) {
    throw new UsageFault(`${named}: there is no such file; check --config`);
  }
  const file = findSettingsFile(flags);
  const { port, consolePort, internalPort, host, data, manifests } = pickTexts(flags);
  const ports = { port, consolePort, internalPort };
  const outcome = loadConfig({
    flags: { ...forced, ...ports, host, dataDir: data, manifestsDir: manifests },
    env: secrets.env,
    fileProblems: secrets.problems,
    ...(existsSync(file) ? { yamlText: readFileSync(file, "utf8"), yamlFile: file } : {}),
  });
  if (outcome.kind === "invalid") throw new UsageFault(outcome.problems.join("\n"));
  return outcome.config;
}

export function findSettingsFile(flags: Flags): string {
  return pickTexts(flags)["config"] ?? "tokenmarket.yaml";
}

/** Options of several commands. */
export const OPTIONS = {
  data: ["--data <folder>", "folder of the embedded PostgreSQL (default ./data)"],
  config: ["--config <file>", "configuration file (default tokenmarket.yaml, if it exists)"],
  manifests: ["--manifests <folder>", "folder of provider manifests (default ./manifests)"],
  publicKey: [
    "--public-key <file>",
    "PEM file of the key that is trusted (default this one's own)",
  ],
  json: ["--json", "print one JSON document on standard output"],
} as const;

export function onStoredData(command: Command): Command {
  return command
    .option(...OPTIONS.data)
    .option(...OPTIONS.config)
    .option("--by <name>", "who you are, for the change log, beside the user of this machine")
    .option(...OPTIONS.json);
}

/** Wraps a command: prints its answer, and turns faults into messages and exit codes. */
export function answering<A extends unknown[]>(
  context: CommandContext,
  run: (context: CommandContext, ...input: A) => Promise<CommandAnswer> | CommandAnswer,
): (...input: A) => Promise<void> {
  const print = async (...input: A): Promise<CommandAnswer["next"]> => {
    const answer = await run(context, ...input);
    const flags = input.find(isFlags) ?? {};
    const text =
      flags["json"] === true
        ? JSON.stringify(answer.json)
        : (answer.text ?? plainText(answer.json));
    if (text !== "") context.stdout.write(`${text}\n`);
    context.setExitCode(answer.exitCode ?? (asObject(answer.json)?.["ok"] === false ? 1 : 0));
    return answer.next;
  };
  return async (...input) => {
    try {
      // The answer may hold a secret, so nothing holds the answer while `next` runs a server.
      const next = await print(...input);
      await next?.();
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
  };
}

/** Writes a fault; its stack only if it is unexpected and the log level is debug. */
export function reportFault({ env, stderr }: CommandIo, fault: unknown): void {
  const error = fileFault(fault) ?? (fault instanceof Error ? fault : new Error(String(fault)));
  const foreseen = error.name.endsWith("Fault") && error.name !== "AssertionFault";
  const detail = foreseen || env["LOG_LEVEL"] !== "debug" ? error.message : error.stack;
  stderr.write(`tokenmarket: ${detail ?? error.message}\n`);
}

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

export function progressTo({ stderr }: CommandIo): (line: string) => void {
  return (line) => void stderr.write(`${line}\n`);
}

/** Returns 1 if the same command may succeed later, else 2. */
export function chooseExitCode(fault: unknown): ExitCode {
  return fault instanceof SchemaBusyFault ? 1 : 2;
}

export const clock: typeof systemClock = systemClock;

function isFlags(value: unknown): value is Flags {
  return typeof value === "object" && value !== null && value.constructor === Object;
}

/** Undefined if the flag `--<name>` is absent. */
export function readWhole(
  flags: Flags,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = readText(flags, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageFault(`--${name} must be a whole number from ${min} to ${max}, not ${text}`);
}

export function readText(flags: Flags, name: string): string | undefined {
  const value = flags[name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase())];
  return value === undefined ? undefined : String(value);
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a duration such as 30m, 12h or 7d, in milliseconds, from a flag that has a default. */
export function readDurationMs(
  flags: Flags,
  name: string,
  { min, max }: { readonly min: string; readonly max: string },
): number {
  const text = readText(flags, name) ?? "";
  const value = durationMs(text);
  if (value >= durationMs(min) && value <= durationMs(max)) return value;
  throw new UsageFault(`--${name} must be from ${min} to ${max}, such as 12h or 7d, not ${text}`);
}

function durationMs(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN);
}

/** Parses a day (midnight UTC) or an instant with a time zone into milliseconds since 1970. */
export function readInstant(text: string, flag: string): number {
  const [, day = ""] = INSTANT.exec(text) ?? [];
  const ms = isDay(day) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new UsageFault(`${flag} must be a day or an instant in UTC such as 2026-09-01T12:00Z`);
}

export function readDay(text: string, flag: string): string {
  if (isDay(text)) return text;
  throw new UsageFault(`${flag} must be a day as YYYY-MM-DD, not ${text}`);
}

const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** The host of a URL that reaches this listening address; loopback if it means all addresses. */
export function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

export function requireUsd(text: string, flag: string): MicroUsd {
  const amount = parseUsd(text);
  if (amount !== undefined && amount >= 0n) return amount;
  throw new UsageFault(`${flag} must be dollars such as 0.25, not ${text}`);
}

export function requireFilled(text: string, flag: string): string {
  if (text.trim() !== "") return text.trim();
  throw new UsageFault(`${flag} must not be empty`);
}

/** Adds the values of an option that can be given several times, or once with commas. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, ...value.split(",")];
}
