import { Writable } from "node:stream";

import { destination, pino, type Logger } from "pino";

import { redactor } from "../core/redact.ts";

const BUFFER_BYTES = 4_096;
const FLUSH_MS = 200;

export interface Logging {
  readonly log: Logger;
  /** Writes what is buffered, now. */
  flush(): void;
}

/**
 * JSON lines on standard error, written in batches. No line leaves without its secrets blanked out.
 */
export function openLogging(level: string, secrets: readonly string[]): Logging {
  const redact = redactor(secrets);
  const out = destination({ dest: 2, minLength: BUFFER_BYTES, sync: true });
  const timer = setInterval(() => out.flushSync(), FLUSH_MS);
  timer.unref();
  const redacting = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      out.write(redact(line));
      done();
    },
  });
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting);
  return { log, flush: () => out.flushSync() };
}
