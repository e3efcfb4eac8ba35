/** How the program reports to its operator. A pino logger has this shape. */
export interface Logger {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** Returns a handler that logs a failed run as a warning. */
export function warnWith(log: Logger, message: string): (fault: unknown) => void {
  return (fault) => log.warn({ err: fault }, message);
}
