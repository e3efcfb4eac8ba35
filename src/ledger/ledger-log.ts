/** Where the ledger and its storage report: the shape of a pino logger. */
export interface LedgerLog {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}
