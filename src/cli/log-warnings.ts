import { format } from "node:util";

import type { Logger } from "../kernel/index.ts";

/**
 * Writes as log lines what Node.js and the packages would print as bare text: warnings of the
 * process, and calls of `console`. It stops when the returned function is called.
 */
export function logWarnings(log: Logger): () => void {
  const listeners = process.listeners("warning");
  // This removes Node's own listener, which prints bare text.
  process.removeAllListeners("warning");
  const onWarning = (warning: Error): void => {
    log.warn({ err: warning, source: "node" }, warning.message);
  };
  process.on("warning", onWarning);
  const printed = { ...console };
  const lineOf =
    (level: "info" | "warn" | "error") =>
    (...words: unknown[]): void =>
      log[level]({ source: "console" }, format(...words));
  const info = lineOf("info");
  Object.assign(console, { log: info, info, debug: info, warn: lineOf("warn") });
  console.error = lineOf("error");
  return () => {
    Object.assign(console, printed);
    process.off("warning", onWarning);
    for (const listener of listeners) process.on("warning", listener);
  };
}
