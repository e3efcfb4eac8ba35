import { parseUsd } from "../core/money.ts";
import { flag, integer, text, type Setting } from "./setting.ts";

/** Settings of the console: who signs in how, and how credit is bought. */
export interface ConsoleConfig {
  readonly oidcIssuer: string;
  readonly oidcClientId: string;
  readonly oidcClientSecret: string;
  readonly oidcProviderName: string;
  readonly oidcIsEmailTrusted: boolean;
  readonly oidcVerifiedAsText: boolean;
  readonly localSignIn: boolean;
  readonly allowInsecureConsole: boolean;
  readonly stripeSecretKey: string;
  readonly stripeWebhookSecret: string;
  readonly stripeApiUrl: string;
  readonly purchaseMinUsd: string;
  readonly purchaseMaxUsd: string;
  readonly autoTopUp: boolean;
  readonly welcomeUsd: string;
  readonly reportTimeoutMs: number;
  readonly support: string;
  readonly privacyUrl: string;
  readonly termsUrl: string;
}

export const CONSOLE_SETTINGS: { readonly [K in keyof ConsoleConfig]: Setting<ConsoleConfig[K]> } =
  {
    oidcIssuer: {
      path: "oidc.issuer",
      alsoEnv: ["OIDC_ISSUER"],
      kind: "string",
      fallback: "",
      doc:
        "URL of the OpenID Connect provider that people sign in with. Empty: links of " +
        "`console-link` sign in when the console is on loopback; otherwise no one can sign in.",
    },
    oidcClientId: {
      path: "oidc.client_id",
      alsoEnv: ["OIDC_CLIENT_ID"],
      kind: "string",
      fallback: "",
      doc: "The console's client id at the identity provider.",
    },
    oidcClientSecret: {
      path: "oidc.client_secret",
      alsoEnv: ["OIDC_CLIENT_SECRET"],
      kind: "string",
      fallback: "",
      secret: true,
      doc: "The client secret. Empty: a public client that uses PKCE only.",
    },
    oidcProviderName: text(
      "oidc.provider_name",
      "",
      "Name of the identity provider on the sign-in button. Empty: its host.",
    ),
    oidcIsEmailTrusted: flag(
      "oidc.email_trusted",
      "Treats every e-mail address of this provider as verified, for a provider that sends no " +
        "`email_verified`.",
    ),
    oidcVerifiedAsText: flag(
      "oidc.verified_as_text",
      'Accepts `email_verified: "true"`, for a provider that sends a string.',
    ),
    localSignIn: flag(
      "local_sign_in",
      "Allows sign-in with links of `console-link` when the console is not on loopback.",
    ),
    allowInsecureConsole: flag(
      "allow_insecure_console",
      "Allows the console on plain http at an address that is not loopback; cookies are then sent unencrypted.",
    ),
    stripeSecretKey: {
      path: "stripe.secret_key",
      alsoEnv: ["STRIPE_SECRET_KEY"],
      kind: "string",
      fallback: "",
      secret: true,
      doc: "Secret key of the Stripe account that sells credit. Empty: only operators grant credit.",
    },
    stripeWebhookSecret: {
      path: "stripe.webhook_secret",
      alsoEnv: ["STRIPE_WEBHOOK_SECRET"],
      kind: "string",
      fallback: "",
      secret: true,
      doc: "Signing secret of the webhook; several, separated by commas, while one replaces another.",
    },
    stripeApiUrl: {
      ...text(
        "stripe.api_url",
        "",
        "URL of Stripe's API, for tests against a substitute. Empty: the real API.",
      ),
      problem: (value) =>
        value === "" || (/^https?:\/\//.test(value) && URL.canParse(value))
          ? undefined
          : "is not a URL; it must start with http:// or https://",
    },
    purchaseMinUsd: {
      ...text("billing.purchase_min_usd", "5.00", "Minimum amount of one purchase, in dollars."),
      problem: purchaseProblem,
    },
    purchaseMaxUsd: {
      ...text("billing.purchase_max_usd", "5000.00", "Maximum amount of one purchase, in dollars."),
      problem: purchaseProblem,
    },
    autoTopUp: {
      path: "billing.auto_top_up",
      kind: "boolean",
      fallback: true,
      doc:
        "Lets organizations save a card and buy credit automatically when the balance is low. Off: no " +
        "automatic purchase is started. Without Stripe there is none either way.",
    },
    welcomeUsd: {
      ...text(
        "billing.welcome_usd",
        "",
        "Free starting credit in dollars, granted at the first verified sign-in, once for an e-mail " +
          "address. Empty: 0, and 1.00 in `dev`. It lifts the limit of organizations without credit; " +
          "unusual use is still detected.",
      ),
      problem: welcomeProblem,
    },
    reportTimeoutMs: integer(
      "reports.timeout_ms",
      10_000,
      1,
      "Maximum duration of a console report on the journal.",
    ),
    support: text(
      "support",
      "",
      "Support contact shown in the console: an e-mail address or a link.",
    ),
    privacyUrl: text("privacy_url", "", "Your privacy policy, linked from the sign-in page."),
    termsUrl: text("terms_url", "", "Your terms, linked from the sign-in page."),
  };

const WELCOME_USD = /^\d{1,3}(\.\d{1,6})?$/;

function welcomeProblem(value: string): string | undefined {
  if (value === "" || WELCOME_USD.test(value)) return undefined;
  return "must be an amount in dollars below 1000, such as 1.00";
}

/** The least that Stripe takes in one payment. */
const LEAST_USD = "0.50";
const MOST_USD = "999999.99";

function purchaseProblem(value: string): string | undefined {
  const [amount = 0n, least = 0n, most = 0n] = [value, LEAST_USD, MOST_USD].map(parseUsd);
  if (amount >= least && amount <= most) return undefined;
  return `must be dollars from ${LEAST_USD} to ${MOST_USD}, not ${value}`;
}

/** The problem of two of them together. */
export function purchasesProblem(of: ConsoleConfig): string | undefined {
  const [min = 0n, max = 0n] = [of.purchaseMinUsd, of.purchaseMaxUsd].map(parseUsd);
  return min > max ? "billing.purchase_min_usd is above billing.purchase_max_usd" : undefined;
}
