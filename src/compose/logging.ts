import { Writable } from "node:stream";

import { destination, pino, type Logger } from "pino";

import { redactor } from "../core/redact.ts";

const STANDARD_ERROR = 2;
const BUFFER_BYTES = 4_096;
const FLUSH_MS = 200;

export interface Logging {
  readonly log: Logger;
  /** Writes what is buffered, now. */
  flush(): void;
}

/**
 * JSON lines on standard error, written in batches. No line leaves without its secrets blanked out.
 * `dest` is a file, or the descriptor of one, for tests.
 */
export function openLogging(
  level: string,
  secrets: readonly string[],
  dest: number | string = STANDARD_ERROR,
): Logging {
  const redact = redactor(secrets.map(jsonText));
  const out = destination({ dest, minLength: BUFFER_BYTES, sync: true });
  const timer = setInterval(() => out.flushSync(), FLUSH_MS);
  timer.unref();
  const redacting = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      out.write(escapeBreaks(redact(line)));
      done();
    },
  });
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting);
  return { log, flush: () => out.flushSync() };
}

/** A secret as a line has it: quotes and backslashes are escaped there. */
function jsonText(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

/**
 * JSON leaves these in a string as they are, and readers of lines that follow Unicode break a line
 * at each of them: a client could write a line of its own into the log.
 */
const UNICODE_BREAKS = /[\u0085\u2028\u2029]/g;

function escapeBreaks(line: string): string {
  return line.replaceAll(
    UNICODE_BREAKS,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
