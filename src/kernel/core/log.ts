/** Where a part of the program reports what an operator should know: the shape of a pino logger. */
export interface Logger {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}
