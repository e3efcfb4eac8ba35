import { exportJWK, generateKeyPair } from "jose";
import type { Configuration, Grant, KoaContextWithOIDC, Provider } from "oidc-provider";

import type { Clock, Logger } from "../../core/index.ts";
import type { LocalIssuerStore } from "../identity-store.ts";
import { errorPage } from "./issuer-pages.ts";
import { IssuerRecords } from "./issuer-records.ts";
import { loadOidcProvider } from "./load-oidc-provider.ts";

export const LOCAL_ISSUER_PATH = "/local-idp";
/** The console, as the bundled issuer knows it: a public client, PKCE instead of a secret. */
export const LOCAL_CLIENT_ID = "tokenmarket-console";
/** Cookies of one sign-in; who owns a browser is kept by our own cookie. */
export const PROVIDER_COOKIES = {
  session: "tm_local_session",
  interaction: "tm_local_interaction",
  resume: "tm_local_resume",
} as const;

const SIGN_IN_SECONDS = 600;
const CODE_SECONDS = 60;
const SIGNING = "ES256";

export interface LocalProviderOptions {
  readonly consoleUrl: string;
  readonly store: LocalIssuerStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The bundled issuer. Its signing key is made anew by every process and never stored: the only one
 * who checks its tokens is the relying party of the same process, which asks it for the keys too.
 */
export async function openLocalProvider(options: LocalProviderOptions): Promise<Provider> {
  const { consoleUrl, log } = options;
  const ProviderClass = await loadOidcProvider();
  const issuer = consoleUrl + LOCAL_ISSUER_PATH;
  const provider = new ProviderClass(issuer, await configurationOf(options));
  // The host that the browser sees is written by us into every request, see `local-issuer.ts`.
  provider.proxy = true;
  provider.on("server_error", (_context: unknown, fault: Error) =>
    log.error({ err: fault }, "the bundled issuer failed"),
  );
  return provider;
}

async function configurationOf(options: LocalProviderOptions): Promise<Configuration> {
  const { consoleUrl, store, clock } = options;
  const { privateKey } = await generateKeyPair(SIGNING, { extractable: true });
  const key = await exportJWK(privateKey);
  return {
    adapter: (kind: string) => new IssuerRecords(kind, store, clock),
    clients: [
      {
        client_id: LOCAL_CLIENT_ID,
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code"],
        response_types: ["code"],
        redirect_uris: [`${consoleUrl}/auth/callback`],
        id_token_signed_response_alg: SIGNING,
      },
    ],
    jwks: { keys: [{ ...key, alg: SIGNING, use: "sig" }] },
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    // The e-mail is in the id token: it is not requested again.
    conformIdTokenClaims: false,
    scopes: ["openid"],
    pkce: { required: () => true },
    cookies: {
      names: PROVIDER_COOKIES,
      long: { httpOnly: true, sameSite: "lax", path: LOCAL_ISSUER_PATH },
      short: { httpOnly: true, sameSite: "lax", path: LOCAL_ISSUER_PATH },
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    ttl: {
      Session: SIGN_IN_SECONDS,
      Interaction: SIGN_IN_SECONDS,
      Grant: SIGN_IN_SECONDS,
      AuthorizationCode: CODE_SECONDS,
      AccessToken: CODE_SECONDS,
      IdToken: SIGN_IN_SECONDS,
    },
    interactions: {
      url: (_context, interaction) => `${LOCAL_ISSUER_PATH}/interaction/${interaction.uid}`,
    },
    findAccount: (_context, email) => ({
      accountId: email,
      claims: () => ({ sub: email, email, email_verified: true }),
    }),
    loadExistingGrant: grantConsole,
    renderError: (context) => {
      const page = errorPage();
      context.type = "html";
      context.set("content-security-policy", page.policy);
      context.body = page.html;
    },
  };
}

/** The console is ours: no consent is requested. */
async function grantConsole(context: KoaContextWithOIDC): Promise<Grant | undefined> {
  const { client, session, provider } = context.oidc;
  const accountId = session?.accountId;
  if (client === undefined || accountId === undefined) return undefined;
  const grant = new provider.Grant({ clientId: client.clientId, accountId });
  grant.addOIDCScope("openid email");
  await grant.save();
  return grant;
}
