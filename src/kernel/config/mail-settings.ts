import { atMost, integer, type Setting, text } from "./setting.ts";

/** The SMTP server that e-mail goes through. */
export interface MailConfig {
  readonly smtpHost: string;
  readonly smtpPort: number;
  readonly smtpSecurity: string;
  readonly smtpUser: string;
  readonly smtpPassword: string;
  readonly smtpFrom: string;
  readonly smtpInvitationsPerHour: number;
}

const SECURITY: ReadonlySet<string> = new Set(["starttls", "tls", "none"]);

export const MAIL_SETTINGS: { readonly [K in keyof MailConfig]: Setting<MailConfig[K]> } = {
  smtpHost: text("smtp.host", "", "Host of the SMTP server that sends alerts. Empty: no e-mail."),
  smtpPort: atMost(integer("smtp.port", 587, 1, "Port of the SMTP server."), 65_535),
  smtpSecurity: {
    ...text(
      "smtp.security",
      "starttls",
      "`starttls`: encryption is required after the greeting. `tls`: from the first byte (port 465). " +
        "`none`: not encrypted, for a relay on the same machine.",
    ),
    problem: (value) => (SECURITY.has(value) ? undefined : "must be starttls, tls or none"),
  },
  smtpUser: text("smtp.user", "", "User at the SMTP server. Empty: no sign-in."),
  smtpPassword: { ...text("smtp.password", "", "Password of that user."), secret: true },
  smtpFrom: text(
    "smtp.from",
    "",
    "Sender of every e-mail: `Token Market <alerts@example.com>`. Empty: `smtp.user`.",
  ),
  smtpInvitationsPerHour: integer(
    "smtp.invitations_per_hour",
    200,
    1,
    "E-mails with an invitation, or a question to confirm an address for alerts, that all organizations " +
      "together send in an hour. Above it, as above 5 invitations a " +
      "day to one address and 50 a day by one organization, the inviting person gets the link to pass on.",
  ),
};

/** The setting that is missing for e-mail to be sent at all; undefined: none. */
export function mailProblem(mail: MailConfig): string | undefined {
  const { smtpHost, smtpUser, smtpFrom } = mail;
  if (smtpHost === "" || smtpFrom !== "" || smtpUser.includes("@")) return undefined;
  return "smtp.host has no sender: set smtp.from, such as `Token Market <alerts@example.com>`";
}
