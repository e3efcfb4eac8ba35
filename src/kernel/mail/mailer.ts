import { createTransport } from "nodemailer";

import type { MailConfig } from "../config/console-settings.ts";
import { isEmail } from "../core/email-address.ts";

export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly attachments?: readonly MailAttachment[];
  /** Unsubscribe URL, for the button that mail programs show. */
  readonly stopUrl?: string;
  /** The same for every attempt to send a message, so that a mailbox can drop duplicates. */
  readonly messageId: string;
}

/** `refused`: rejected permanently. `unavailable`: a later attempt may succeed. */
export interface MailAnswer {
  readonly kind: "sent" | "refused" | "unavailable";
  readonly answer: string;
}

/** `send` never rejects. */
export interface Mailer {
  send(message: MailMessage): Promise<MailAnswer>;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_MAX_MS = 20_000;
const ANSWER_CHARS_MAX = 300;

/** Returns a mailer for the operator's SMTP server; undefined if none is configured. */
export function openMailer(
  options: Omit<MailConfig, "smtpInvitationsPerHour">,
): Mailer | undefined {
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
    // If the text is more than a plain address, mail could go to another, unchecked mailbox.
    if (!isEmail(to)) return { kind: "refused", answer: "the recipient is not an e-mail address" };
    try {
      const from = options.smtpFrom || user;
      // The mailer takes an object as one recipient, whatever characters the address has.
      const recipient = { name: "", address: to };
      const files = { attachments: [...attachments] };
      const headers: Record<string, string> =
        stopUrl === undefined
          ? {}
          : {
              "List-Unsubscribe": `<${stopUrl}>`,
              // RFC 8058: the button of the mail program sends a POST to `stopUrl`.
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
  // A 5xx answer to another command, such as the login, concerns the operator's settings.
  const isOfMessage = command === "RCPT TO" || command === "DATA" || code === "EMESSAGE";
  const isRefused = responseCode !== undefined && responseCode >= 500 && isOfMessage;
  return { kind: isRefused ? "refused" : "unavailable", answer };
}

function cut(text: string): string {
  return text.replaceAll(/[\p{Cc}]+/gu, " ").slice(0, ANSWER_CHARS_MAX);
}
