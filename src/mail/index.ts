export type { Mailer } from "./mailer.ts";
export { openMailer } from "./smtp-mailer.ts";
