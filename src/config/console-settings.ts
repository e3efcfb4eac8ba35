import { flag, integer, text, type Setting } from "./setting.ts";

/** Settings of the console: who signs in how, and how credit is bought. */
export interface ConsoleConfig {
  readonly oidcIssuer: string;
  readonly oidcClientId: string;
  readonly oidcClientSecret: string;
  readonly oidcProviderName: string;
  readonly oidcIsEmailTrusted: boolean;
  readonly oidcVerifiedAsText: boolean;
  readonly oidcRefresh: boolean;
  readonly localIssuer: boolean;
  readonly allowInsecureConsole: boolean;
  readonly stripeSecretKey: string;
  readonly stripeWebhookSecret: string;
  readonly stripeApiUrl: string;
  readonly purchaseMinUsd: string;
  readonly purchaseMaxUsd: string;
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
        "Address of the OpenID Connect provider that people sign in with; empty: the bundled issuer, " +
        "where the console is on loopback, else nobody signs in.",
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
      doc: "Its secret; empty: a public client with PKCE alone.",
    },
    oidcProviderName: text(
      "oidc.provider_name",
      "",
      "What the sign-in button calls the identity provider; empty: its host.",
    ),
    oidcIsEmailTrusted: flag(
      "oidc.email_trusted",
      "Every e-mail of this provider counts as verified, for one that sends no `email_verified`.",
    ),
    oidcVerifiedAsText: flag(
      "oidc.verified_as_text",
      'Takes `email_verified: "true"` for true, for a provider that sends a string.',
    ),
    oidcRefresh: flag(
      "oidc.refresh",
      "Asks for `offline_access` and looks every 15 minutes of activity whether the provider's session " +
        "still lives; needs `encryption_key`.",
    ),
    localIssuer: flag(
      "local_issuer",
      "Lets the bundled issuer sign people in where the console is not on loopback.",
    ),
    allowInsecureConsole: flag(
      "allow_insecure_console",
      "Lets the console be on plain http at an address that is not loopback; cookies then travel in the clear.",
    ),
    stripeSecretKey: {
      path: "stripe.secret_key",
      alsoEnv: ["STRIPE_SECRET_KEY"],
      kind: "string",
      fallback: "",
      secret: true,
      doc: "Secret key of the Stripe account that credit is bought through; empty: operators grant it.",
    },
    stripeWebhookSecret: {
      path: "stripe.webhook_secret",
      alsoEnv: ["STRIPE_WEBHOOK_SECRET"],
      kind: "string",
      fallback: "",
      secret: true,
      doc: "Signing secret of the webhook; several with commas while one is replaced by another.",
    },
    stripeApiUrl: text(
      "stripe.api_url",
      "",
      "Address of Stripe's API; empty: the real one. For tests against a stand-in.",
    ),
    purchaseMinUsd: text("billing.purchase_min_usd", "5.00", "Least that can be bought at once."),
    purchaseMaxUsd: text("billing.purchase_max_usd", "5000.00", "Most that can be bought at once."),
    reportTimeoutMs: integer(
      "reports.timeout_ms",
      10_000,
      1,
      "Longest a look of the console into the journal may take.",
    ),
    support: text(
      "support",
      "",
      "Where people find support: an address or a link, shown in the console.",
    ),
    privacyUrl: text("privacy_url", "", "Your privacy policy, linked from the sign-in page."),
    termsUrl: text("terms_url", "", "Your terms, linked from the sign-in page."),
  };
