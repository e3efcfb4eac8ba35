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
