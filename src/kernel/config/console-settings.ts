import { parseUsd } from "../core/money.ts";
import { type ConfigOf, flag, integer, type Setting, text } from "./setting.ts";

export const CONSOLE_SETTINGS = {
  oidcIssuer: text("oidc.issuer", "", {
    doc:
      "URL of the OpenID Connect provider that people sign in with. Empty: links of " +
      "`console-link` sign in when the console is on loopback; otherwise no one can sign in.",
    alsoEnv: ["OIDC_ISSUER"],
  }),
  oidcClientId: text("oidc.client_id", "", {
    doc: "The console's client id at the identity provider.",
    alsoEnv: ["OIDC_CLIENT_ID"],
  }),
  oidcClientSecret: text("oidc.client_secret", "", {
    doc: "The client secret. Empty: a public client that uses PKCE only.",
    alsoEnv: ["OIDC_CLIENT_SECRET"],
    secret: true,
  }),
  oidcProviderName: text("oidc.provider_name", "", {
    doc: "Name of the identity provider on the sign-in button. Empty: its host.",
  }),
  oidcIsEmailTrusted: flag("oidc.email_trusted", {
    doc:
      "Treats every e-mail address of this provider as verified, for a provider that sends no " +
      "`email_verified`.",
  }),
  oidcVerifiedAsText: flag("oidc.verified_as_text", {
    doc: 'Accepts `email_verified: "true"`, for a provider that sends a string.',
  }),
  localSignIn: flag("local_sign_in", {
    doc: "Allows sign-in with links of `console-link` when the console is not on loopback.",
  }),
  allowInsecureConsole: flag("allow_insecure_console", {
    doc: "Allows the console on plain http at an address that is not loopback; cookies are then sent unencrypted.",
  }),
  stripeSecretKey: text("stripe.secret_key", "", {
    doc: "Secret key of the Stripe account that sells credit. Empty: only operators grant credit.",
    alsoEnv: ["STRIPE_SECRET_KEY"],
    secret: true,
  }),
  stripeWebhookSecret: text("stripe.webhook_secret", "", {
    doc: "Signing secret of the webhook; several, separated by commas, while one replaces another.",
    alsoEnv: ["STRIPE_WEBHOOK_SECRET"],
    secret: true,
  }),
  stripeApiUrl: text("stripe.api_url", "", {
    doc: "URL of Stripe's API, for tests against a substitute. Empty: the real API.",
    problem: (value) =>
      value === "" || (/^https?:\/\//.test(value) && URL.canParse(value))
        ? undefined
        : "is not a URL; it must start with http:// or https://",
  }),
  purchaseMinUsd: text("billing.purchase_min_usd", "5.00", {
    doc: "Minimum amount of one purchase, in dollars.",
    problem: purchaseProblem,
  }),
  purchaseMaxUsd: text("billing.purchase_max_usd", "5000.00", {
    doc: "Maximum amount of one purchase, in dollars.",
    problem: purchaseProblem,
  }),
  autoTopUp: flag("billing.auto_top_up", {
    doc:
      "Lets organizations save a card and buy credit automatically when the balance is low. Off: no " +
      "automatic purchase is started. Without Stripe there is none either way.",
    fallback: true,
  }),
  welcomeUsd: text("billing.welcome_usd", "", {
    doc:
      "Free starting credit in dollars, granted at the first verified sign-in, once for an e-mail " +
      "address. Empty: 0, and 1.00 in `dev`. It lifts the limit of organizations without credit; " +
      "unusual use is still detected.",
    problem: welcomeProblem,
  }),
  reportTimeoutMs: integer("reports.timeout_ms", 10_000, {
    doc: "Maximum duration of a report on the journal, in the console and in `GET /v1/usage` with `group_by`.",
  }),
  support: text("support", "", {
    doc: "Support contact shown in the console: an e-mail address or a link.",
  }),
  privacyUrl: text("privacy_url", "", {
    doc: "Your privacy policy, linked from the sign-in page.",
  }),
  termsUrl: text("terms_url", "", { doc: "Your terms, linked from the sign-in page." }),
};

export type ConsoleConfig = ConfigOf<typeof CONSOLE_SETTINGS>;

const WELCOME_USD = /^\d{1,3}(\.\d{1,6})?$/;

function welcomeProblem(value: string): string | undefined {
  if (value === "" || WELCOME_USD.test(value)) return undefined;
  return "must be an amount in dollars below 1000, such as 1.00";
}

const LEAST_USD = "0.50";
const MOST_USD = "999999.99";

function purchaseProblem(value: string): string | undefined {
  const [amount = 0n, least = 0n, most = 0n] = [value, LEAST_USD, MOST_USD].map(parseUsd);
  if (amount >= least && amount <= most) return undefined;
  return `must be dollars from ${LEAST_USD} to ${MOST_USD}, not ${value}`;
}

export function purchasesProblem(of: ConsoleConfig): string | undefined {
  const [min = 0n, max = 0n] = [of.purchaseMinUsd, of.purchaseMaxUsd].map(parseUsd);
  return min > max ? "billing.purchase_min_usd is above billing.purchase_max_usd" : undefined;
}

const CHARACTERS_MAX = 400;

export const ISSUER_SETTINGS = {
  issuerName: bounded(
    "billing.issuer.name",
    "Legal name of your company on statements and receipts. Empty: only the name of the installation.",
  ),
  issuerAddress: bounded(
    "billing.issuer.address",
    "Its address, with ` | ` between the lines: `1 Main St | 12345 Springfield | US`.",
  ),
  issuerTaxId: bounded("billing.issuer.tax_id", "Its tax id, as statements and receipts show it."),
  issuerNote: bounded(
    "billing.issuer.note",
    "A line under your company on every statement and receipt, such as a register number.",
  ),
  issuerNoTaxReason: text(
    "billing.issuer.no_tax_reason",
    "Tax is not charged when prepaid credit is sold.",
    { doc: "Why receipts charge no tax, as they say it.", problem: lineProblem },
  ),
};

export type IssuerConfig = ConfigOf<typeof ISSUER_SETTINGS>;

function bounded(path: string, doc: string): Setting<string> {
  return text(path, "", { doc, problem: lineProblem });
}

function lineProblem(value: string): string | undefined {
  if (value.length > CHARACTERS_MAX) return `must be at most ${CHARACTERS_MAX} characters`;
  return /\p{Cc}/u.test(value) ? "must be one line without control characters" : undefined;
}

export const OPERATOR_SETTINGS = {
  operators: text("operators", "", {
    doc:
      "E-mail addresses, separated by commas, of the accounts that may open `/operator` in the console. The " +
      "address must be verified by the identity provider. Checked on every request. Empty: no account.",
    problem: addressesProblem,
  }),
};

export function splitList(list: string): readonly string[] {
  return list
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function addressesProblem(value: string): string | undefined {
  const wrong = splitList(value).find((each) => !/^[^@\s]+@[^@\s]+$/.test(each));
  if (wrong === undefined) return undefined;
  return `must be e-mail addresses, separated by commas; "${wrong}" is none`;
}

const SECURITY: ReadonlySet<string> = new Set(["starttls", "tls", "none"]);

export const MAIL_SETTINGS = {
  smtpHost: text("smtp.host", "", {
    doc: "Host of the SMTP server that sends alerts. Empty: no e-mail.",
  }),
  smtpPort: integer("smtp.port", 587, { max: 65_535, doc: "Port of the SMTP server." }),
  smtpSecurity: text("smtp.security", "starttls", {
    doc:
      "`starttls`: encryption is required after the greeting. `tls`: from the first byte (port 465). " +
      "`none`: not encrypted, for a relay on the same machine.",
    problem: (value) => (SECURITY.has(value) ? undefined : "must be starttls, tls or none"),
  }),
  smtpUser: text("smtp.user", "", { doc: "User at the SMTP server. Empty: no sign-in." }),
  smtpPassword: text("smtp.password", "", { doc: "Password of that user.", secret: true }),
  smtpFrom: text("smtp.from", "", {
    doc: "Sender of every e-mail: `Token Market <alerts@example.com>`. Empty: `smtp.user`.",
  }),
  smtpInvitationsPerHour: integer("smtp.invitations_per_hour", 200, {
    doc:
      "E-mails with an invitation, or a question to confirm an address for alerts, that all organizations " +
      "together send in an hour. Above it, as above 5 invitations a " +
      "day to one address and 50 a day by one organization, the inviting person gets the link to pass on.",
  }),
};

export type MailConfig = ConfigOf<typeof MAIL_SETTINGS>;

/** Returns the problem if e-mail is on and no setting gives a sender address, else undefined. */
export function mailProblem(mail: MailConfig): string | undefined {
  const { smtpHost, smtpUser, smtpFrom } = mail;
  if (smtpHost === "" || smtpFrom !== "" || smtpUser.includes("@")) return undefined;
  return "smtp.host has no sender: set smtp.from, such as `Token Market <alerts@example.com>`";
}
