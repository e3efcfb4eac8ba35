export type { Mailer, MailMessage } from "./mailer.ts";
export { openMailer } from "./smtp-mailer.ts";
