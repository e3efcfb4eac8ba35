/** How the program reports to its operator. A pino logger has this shape. */
export interface Logger {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}
