export type { Mailer, MailMessage } from "./mailer.ts";
export { nameInMail } from "./name-in-mail.ts";
export { openMailer } from "./smtp-mailer.ts";
