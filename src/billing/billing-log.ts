/** Where purchases report: the shape of a pino logger. */
export interface BillingLog {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}
