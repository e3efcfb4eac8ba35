import { isatty } from "node:tty";
import { Writable } from "node:stream";

import { destination, pino, type Logger } from "pino";

import { redactor } from "../kernel/index.ts";

const BATCH_CHARS = 4_096;
const FLUSH_MS = 200;

export interface TextOutput {
  write(text: string): unknown;
}

export interface Logging {
  readonly log: Logger;
  /** Hides further values in later lines: secrets that come into use after the log was opened. */
  readonly hide: (secrets: readonly string[]) => void;
  flush(): void;
}

/** Opens a log of JSON lines. Lines are written in batches, with secrets blanked out. */
export function openLogging(options: {
  readonly level: string;
  readonly secrets: readonly string[];
  readonly output: TextOutput;
}): Logging {
  const { level, secrets, output } = options;
  const hidden = new HiddenValues(secrets);
  const batches = inBatches(output);
  const redacting = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      batches.write(replaceHalves(escapeBreaks(hidden.redact(line))));
      done();
    },
  });
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label, number) => ({ level: number, severity: label.toUpperCase() }) },
    },
    redacting,
  );
  return { log, hide: (values) => hidden.add(values), flush: () => batches.flush() };
}

/** Number of secrets from `hide` that stay hidden: old calls may still log replaced ones. */
const REPLACED_SECRETS_MAX = 100;

class HiddenValues {
  readonly #first: readonly string[];
  #later: readonly string[] = [];
  redact: (text: string) => string;

  constructor(secrets: readonly string[]) {
    this.#first = secrets.map(jsonText);
    this.redact = redactor(this.#first);
  }

  add(secrets: readonly string[]): void {
    const known = new Set([...this.#first, ...this.#later]);
    const fresh = secrets.map(jsonText).filter((secret) => !known.has(secret));
    if (fresh.length === 0) return;
    this.#later = [...this.#later, ...fresh].slice(-REPLACED_SECRETS_MAX);
    this.redact = redactor([...this.#first, ...this.#later]);
  }
}

/** Opens a log file. Empties it if it exists, and creates its folder. */
export function openLogFile(file: string): TextOutput {
  return openOutput({ dest: file, mkdir: true, append: false });
}

export function openStandardError(): TextOutput & { readonly isTTY: boolean } {
  return Object.assign(openOutput({ dest: 2 }), { isTTY: isatty(2) });
}

/** Maximum size of the lines that wait in memory while the disk is full. Later lines are lost. */
const UNWRITTEN_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Writes are synchronous, so that no written text is lost when the process exits. A log that cannot
 * be written, as on a full disk, does not end the program, because calls can still be served.
 */
function openOutput(to: {
  readonly dest: string | number;
  readonly mkdir?: boolean;
  readonly append?: boolean;
}): TextOutput {
  const output = destination({ ...to, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  return output.on("error", () => undefined);
}

function inBatches(output: TextOutput): TextOutput & { flush(): void } {
  let pending = "";
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const text = pending;
    pending = "";
    if (text !== "") output.write(text);
  };
  const write = (text: string): void => {
    pending += text;
    if (pending.length >= BATCH_CHARS) flush();
    else timer ??= setTimeout(flush, FLUSH_MS).unref();
  };
  return { write, flush };
}

/** The secret as it appears in a JSON line, with quotes and backslashes escaped. */
function jsonText(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

/** JSON does not escape these, but some readers end a line at them: a client could forge a line. */
const UNICODE_BREAKS = /[\u0085\u2028\u2029]/g;

function escapeBreaks(line: string): string {
  return line.replaceAll(
    UNICODE_BREAKS,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Matches JSON escapes. A match of six characters is an unpaired half of a surrogate pair. */
const ESCAPES = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

/** UTF-8 cannot encode half of a surrogate pair, and strict JSON parsers reject its escape. */
function replaceHalves(line: string): string {
  const whole = line.toWellFormed();
  if (!whole.includes("\\ud")) return whole;
  return whole.replaceAll(ESCAPES, (each) => (each.length === 2 ? each : "\ufffd"));
}
