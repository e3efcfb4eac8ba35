import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

import { type Environment, isOwnVariable, isSecretSetting } from "../kernel/index.ts";

/** The contents of the files of secrets at one moment. */
export interface SecretReading {
  /** The environment, with the value of `X` where `X_FILE` names its file. */
  readonly env: Environment;
  /** Why `X` cannot be used though `X_FILE` is set, by `X`; never with a value in it. */
  readonly problems: ReadonlyMap<string, string>;
  /** Variables whose files had other contents than in the reading that is in force. */
  readonly changed: readonly string[];
}

/** Larger files are refused, because they cannot be secrets. */
export const SECRET_FILE_BYTES_MAX: number = 65_536;

/**
 * Secrets in files: if the environment has `X_FILE`, `X` is the content of that file. `env` always
 * shows the reading in force, which is replaced as a whole.
 */
export class SecretFiles {
  readonly env: Environment;
  readonly #given: Environment;
  /** The name of the file by variable. */
  readonly #files: ReadonlyMap<string, string>;
  #values: ReadonlyMap<string, string>;
  #problems: ReadonlyMap<string, string>;

  constructor(given: Environment) {
    this.#given = given;
    this.#files = collectFiles(given);
    ({ values: this.#values, problems: this.#problems } = readAll(given, this.#files));
    const view: Record<string, string | undefined> = { ...given };
    for (const name of this.#files.keys()) {
      const get = (): string | undefined => this.#values.get(name);
      Object.defineProperty(view, name, { get, enumerable: true });
    }
    this.env = Object.freeze(view);
  }

  /** Why `X` cannot be used though `X_FILE` is set, by `X`. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Paths of all secret files. */
  get paths(): readonly string[] {
    return [...new Set(this.#files.values())];
  }

  /** Reads every file again; nothing changes before `use`. */
  read(): SecretReading {
    const { values, problems } = readAll(this.#given, this.#files);
    const names = [...this.#files.keys()];
    const changed = names.filter((name) => values.get(name) !== this.#values.get(name));
    return { env: { ...this.#given, ...Object.fromEntries(values) }, problems, changed };
  }

  /** Makes a reading the one in force. */
  use({ env, problems }: SecretReading): void {
    const names = [...this.#files.keys()];
    this.#values = new Map(names.flatMap((name) => toPairs(name, env[name])));
    this.#problems = problems;
  }
}

function toPairs(name: string, value: string | undefined): readonly [string, string][] {
  return value === undefined ? [] : [[name, value]];
}

const SUFFIX = "_FILE";
/** Names of variables that a manifest can use for a key. */
const VARIABLE_NAME = /^[A-Z][A-Z0-9_]*$/;

function collectFiles(given: Environment): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const [fileName, file = ""] of Object.entries(given)) {
    if (!fileName.endsWith(SUFFIX) || file === "") continue;
    const name = fileName.slice(0, -SUFFIX.length);
    if (mayBeSecret(name)) files.set(name, file);
  }
  return files;
}

/** True for secrets of this program, and for every name that may hold a provider's key. */
function mayBeSecret(name: string): boolean {
  if (isSecretSetting(name)) return true;
  return VARIABLE_NAME.test(name) && !isOwnVariable(name);
}

function readAll(
  given: Environment,
  files: ReadonlyMap<string, string>,
): {
  readonly values: ReadonlyMap<string, string>;
  readonly problems: ReadonlyMap<string, string>;
} {
  const values = new Map<string, string>();
  const problems = new Map<string, string>();
  for (const [name, file] of files) {
    const read = readSecretFile(file);
    if ((given[name] ?? "") !== "") {
      problems.set(name, `${name} and ${name}${SUFFIX} are both set; keep one of them`);
    } else if (read.ok) {
      values.set(name, read.text);
    } else {
      problems.set(name, `${name}${SUFFIX}: ${file} ${read.problem}`);
    }
  }
  return { values, problems };
}

/** The text of a secret, or the problem of its file, which never contains a part of it. */
export type SecretText =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/** Reads one line from a file of 64 KiB at most; the newline at its end does not belong to it. */
export function readSecretFile(file: string): SecretText {
  let bytes: Buffer;
  try {
    const opened = openRegular(file);
    if (typeof opened === "string") return { ok: false, problem: opened };
    try {
      bytes = readFileSync(opened);
    } finally {
      closeSync(opened);
    }
  } catch (fault) {
    const { code = "unknown fault" } = fault as { readonly code?: string };
    return { ok: false, problem: `cannot be read (${code})` };
  }
  const problem = contentProblem(bytes);
  if (problem !== undefined) return { ok: false, problem };
  return { ok: true, text: bytes.toString("utf8").replace(LAST_NEWLINE, "") };
}

/** The file descriptor, or the problem as a text. Refuses pipes, on which reading would wait. */
function openRegular(file: string): number | string {
  const opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const { size, isFile } = readStat(opened);
  if (isFile && size <= SECRET_FILE_BYTES_MAX) return opened;
  closeSync(opened);
  return isFile ? `is larger than ${SECRET_FILE_BYTES_MAX} bytes` : "is not a file";
}

function readStat(opened: number): { readonly size: number; readonly isFile: boolean } {
  const stat = fstatSync(opened);
  return { size: stat.size, isFile: stat.isFile() };
}

const LAST_NEWLINE = /\r?\n$/;
const CONTROL = /\p{Cc}/u;

function contentProblem(bytes: Buffer): string | undefined {
  if (bytes.length > SECRET_FILE_BYTES_MAX) {
    return `is larger than ${SECRET_FILE_BYTES_MAX} bytes`;
  }
  const whole = bytes.toString("utf8");
  if (!Buffer.from(whole).equals(bytes)) return "is not a text in UTF-8";
  const text = whole.replace(LAST_NEWLINE, "");
  if (text === "") return "is empty";
  return CONTROL.test(text) ? "must have one line, without control characters" : undefined;
}
