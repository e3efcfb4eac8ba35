import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

import { type Environment, isOwnVariable, isSecretSetting } from "../kernel/index.ts";

export interface SecretReading {
  /** The environment; `X` has the content of the file that `X_FILE` names. */
  readonly env: Environment;
  /** By variable name `X`: why the file that `X_FILE` names cannot be used. Contains no secret. */
  readonly problems: ReadonlyMap<string, string>;
  /** Variables whose values in the files differ from the values in force. */
  readonly changed: readonly string[];
}

/** A larger file cannot be a secret, and is refused. */
export const SECRET_FILE_BYTES_MAX: number = 65_536;

/** `env` always has the values in force. `use` replaces those that come from files. */
export class SecretFiles {
  readonly env: Environment;
  readonly #given: Environment;
  readonly #files: ReadonlyMap<string, string>;
  #values: ReadonlyMap<string, string>;
  #problems: ReadonlyMap<string, string>;

  constructor(given: Environment) {
    this.#given = withoutLastNewlines(given);
    this.#files = collectFiles(this.#given);
    ({ values: this.#values, problems: this.#problems } = readAll(this.#given, this.#files));
    const view: Record<string, string | undefined> = { ...this.#given };
    for (const name of this.#files.keys()) {
      const get = (): string | undefined => this.#values.get(name);
      Object.defineProperty(view, name, { get, enumerable: true });
    }
    this.env = Object.freeze(view);
  }

  /** Returns a copy in which `values` replace some variables and the files of those variables. */
  withValues(values: ReadonlyMap<string, string>): SecretFiles {
    const given = [...values].flatMap(([name, value]) => [
      [name + SUFFIX, ""],
      [name, value],
    ]);
    return new SecretFiles({ ...this.#given, ...Object.fromEntries(given) });
  }

  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  get paths(): readonly string[] {
    return [...new Set(this.#files.values())];
  }

  /** Reads every file again. The values in force change only when the result is passed to `use`. */
  read(): SecretReading {
    const { values, problems } = readAll(this.#given, this.#files);
    const names = [...this.#files.keys()];
    const changed = names.filter((name) => values.get(name) !== this.#values.get(name));
    return { env: { ...this.#given, ...Object.fromEntries(values) }, problems, changed };
  }

  use({ env, problems }: SecretReading): void {
    const names = [...this.#files.keys()];
    this.#values = new Map(names.flatMap((name) => toPairs(name, env[name])));
    this.#problems = problems;
  }
}

function toPairs(name: string, value: string | undefined): readonly [string, string][] {
  return value === undefined ? [] : [[name, value]];
}

/** A last newline is part of no secret: tools that copy a file into a variable may keep it. */
function withoutLastNewlines(given: Environment): Environment {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]): [string, string | undefined] => {
      if (value?.endsWith("\n") !== true || !mayBeSecret(name)) return [name, value];
      return [name, value.replace(LAST_NEWLINE, "")];
    }),
  );
}

const SUFFIX = "_FILE";
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

/** True for a secret of this program, and for every name that a provider's key may have. */
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

/** `problem` never contains a part of the secret. */
export type SecretText =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/** Reads one line from a file of at most 64 KiB, without byte order mark and last newline. */
export function readSecretFile(file: string): SecretText {
  try {
    // Without `O_NONBLOCK`, opening a named pipe would block.
    const opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readOpened(opened);
    } finally {
      closeSync(opened);
    }
  } catch (fault) {
    const { code = "unknown fault" } = fault as { readonly code?: string };
    return { ok: false, problem: `cannot be read (${code})` };
  }
}

function readOpened(opened: number): SecretText {
  const stat = fstatSync(opened);
  if (!stat.isFile()) return { ok: false, problem: "is not a file" };
  if (stat.size > SECRET_FILE_BYTES_MAX) return { ok: false, problem: TOO_LARGE };
  const bytes = readFileSync(opened);
  const problem = contentProblem(bytes);
  if (problem !== undefined) return { ok: false, problem };
  return { ok: true, text: trimLine(bytes.toString("utf8")) };
}

const TOO_LARGE = `is larger than ${SECRET_FILE_BYTES_MAX} bytes`;
const BYTE_ORDER_MARK = /^\uFEFF/;
const LAST_NEWLINE = /\r?\n$/;
const CONTROL = /\p{Cc}/u;

function trimLine(text: string): string {
  return text.replace(BYTE_ORDER_MARK, "").replace(LAST_NEWLINE, "");
}

function contentProblem(bytes: Buffer): string | undefined {
  if (bytes.length > SECRET_FILE_BYTES_MAX) return TOO_LARGE;
  const whole = bytes.toString("utf8");
  if (!Buffer.from(whole).equals(bytes)) return "is not a text in UTF-8";
  const text = trimLine(whole);
  if (text === "") return "is empty";
  return CONTROL.test(text) ? "must have one line, without control characters" : undefined;
}
