import { createTransport } from "nodemailer";

import { isEmail } from "../core/email-address.ts";

/** A file that goes with a message. */
export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

/** One message to one address. */
export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Default: none. */
  readonly attachments?: readonly MailAttachment[];
  /** Where its reader stops such messages, for the button of a mail program. Default: none. */
  readonly stopUrl?: string;
  /** Equal for every try, so that a mailbox can recognize a repetition. */
  readonly messageId: string;
}

/** `refused`: the server rejects it permanently. */
export type MailAnswer =
  | { readonly kind: "sent"; readonly answer: string }
  | { readonly kind: "refused"; readonly answer: string }
  | { readonly kind: "unavailable"; readonly answer: string };

/** Sends e-mail. Never rejects. */
export interface Mailer {
  send(message: MailMessage): Promise<MailAnswer>;
  close(): void;
}

/** How the operator's SMTP server is reached. */
export interface SmtpOptions {
  readonly smtpHost: string;
  readonly smtpPort: number;
  readonly smtpSecurity: string;
  readonly smtpUser: string;
  readonly smtpPassword: string;
  readonly smtpFrom: string;
}

const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_MAX_MS = 20_000;
const ANSWER_CHARS_MAX = 300;

/** Undefined if no server is configured, so no e-mail is sent. */
export function openMailer(options: SmtpOptions): Mailer | undefined {
  if (options.smtpHost === "") return undefined;
  const { smtpUser: user, smtpPassword: pass, smtpSecurity } = options;
  const transport = createTransport({
    host: options.smtpHost,
    port: options.smtpPort,
    secure: smtpSecurity === "tls",
    requireTLS: smtpSecurity === "starttls",
    ignoreTLS: smtpSecurity === "none",
    ...(user === "" ? {} : { auth: { user, pass } }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_MAX_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const send = async (asked: MailMessage): Promise<MailAnswer> => {
    const { to, attachments = [], stopUrl, ...message } = asked;
    // A text that a mail program parses may be another mailbox than the one that was counted.
    if (!isEmail(to)) return { kind: "refused", answer: "the recipient is not an e-mail address" };
    try {
      const from = options.smtpFrom || user;
      // As an object, an address is one recipient whatever its text holds.
      const recipient = { name: "", address: to };
      const files = { attachments: [...attachments] };
      const headers: Record<string, string> =
        stopUrl === undefined
          ? {}
          : {
              "List-Unsubscribe": `<${stopUrl}>`,
              // The mail program's own button posts to that address.
              "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            };
      const sent = await transport.sendMail({ from, to: recipient, headers, ...message, ...files });
      return { kind: "sent", answer: cut(sent.response) };
    } catch (fault) {
      return toMailAnswer(fault);
    }
  };
  return { send, close: () => transport.close() };
}

function toMailAnswer(fault: unknown): MailAnswer {
  const { responseCode, code, response, command } = fault as {
    readonly responseCode?: number;
    readonly code?: string;
    readonly response?: string;
    readonly command?: string;
  };
  const answer = cut(response ?? code ?? "the mail server did not answer");
  // A wrong password or a full queue is the operator's to repair: the message itself may be well.
  const isOfMessage = command === "RCPT TO" || command === "DATA" || code === "EMESSAGE";
  const isRefused = responseCode !== undefined && responseCode >= 500 && isOfMessage;
  return { kind: isRefused ? "refused" : "unavailable", answer };
}

function cut(text: string): string {
  return text.replaceAll(/[\p{Cc}]+/gu, " ").slice(0, ANSWER_CHARS_MAX);
}
