import * as client from "openid-client";

import type { Clock } from "../../kernel/index.ts";
import { LogoutTokenVerifier, type LogoutToken } from "./logout-token.ts";

const REQUEST_SECONDS_MAX = 10;
/** What a provider says about itself is read again after that long. */
const DISCOVERY_MS = 3_600_000;
/** A provider that could not be reached is not asked again before. */
const DISCOVERY_PAUSE_MS = 2_000;

export interface RelyingPartyOptions {
  readonly issuer: () => URL;
  readonly clientId: string;
  /** Empty: a public client, PKCE alone. */
  readonly clientSecret: string;
  readonly redirectUri: () => string;
  readonly scope: string;
  readonly fetch: client.CustomFetch;
  readonly clock: Clock;
}

/** The identity provider cannot be reached, or what it says of itself makes no sense. */
export class ProviderAwayFault extends Error {
  override readonly name = "ProviderAwayFault";
}

/** What a provider said when it sent a browser back. */
export interface ProviderAnswer {
  readonly issuer: string;
  readonly subject: string;
  readonly sid: string | undefined;
  readonly refreshToken: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Asks for the claims that the id token leaves out. */
  moreClaims(): Promise<Readonly<Record<string, unknown>>>;
}

export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

interface Discovered {
  readonly issuer: string;
  readonly config: client.Configuration;
  readonly logoutTokens: LogoutTokenVerifier;
  readonly untilMs: number;
}

/**
 * The console as a client of one identity provider. It is found when it is needed: one that is down
 * does not end sessions, and is found again by the next request.
 */
export class RelyingParty {
  readonly #options: RelyingPartyOptions;
  #discovered: Discovered | undefined;
  #discovering: Promise<Discovered> | undefined;
  #failed: { readonly untilMs: number; readonly fault: ProviderAwayFault } | undefined;

  constructor(options: RelyingPartyOptions) {
    this.#options = options;
  }

  /** Where the browser goes, and what has to be remembered until it is back. */
  async authorize(
    extra: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly url: string; readonly secrets: SignInSecrets }> {
    const { config } = await this.#discover();
    const secrets: SignInSecrets = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: this.#options.redirectUri(),
      scope: this.#options.scope,
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(secrets.codeVerifier),
      code_challenge_method: "S256",
      ...extra,
    });
    return { url: url.href, secrets };
  }

  /**
   * Changes the code of a callback into what the provider says. Throws what `openid-client` throws:
   * `AuthorizationResponseError` is the provider's own no.
   */
  async redeem(callbackQuery: string, secrets: SignInSecrets): Promise<ProviderAnswer> {
    const { config } = await this.#discover();
    const callback = new URL(this.#options.redirectUri());
    callback.search = callbackQuery;
    const tokens = await client.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: secrets.codeVerifier,
      expectedState: secrets.state,
      expectedNonce: secrets.nonce,
      idTokenExpected: true,
    });
    const claims: Readonly<Record<string, unknown>> = { ...tokens.claims() };
    const subject = String(claims["sub"]);
    return {
      issuer: String(claims["iss"]),
      subject,
      sid: typeof claims["sid"] === "string" ? claims["sid"] : undefined,
      refreshToken: tokens.refresh_token,
      claims,
      moreClaims: async () => {
        if (config.serverMetadata().userinfo_endpoint === undefined) return {};
        return { ...(await client.fetchUserInfo(config, tokens.access_token, subject)) };
      },
    };
  }

  /** Does the session at the provider still live? Throws when it gives no answer. */
  async refresh(
    refreshToken: string,
    subject: string,
  ): Promise<"ended" | { readonly refreshToken: string | undefined }> {
    const { config } = await this.#discover();
    try {
      const tokens = await client.refreshTokenGrant(config, refreshToken);
      const now = tokens.claims()?.sub;
      if (now !== undefined && now !== subject) return "ended";
      return { refreshToken: tokens.refresh_token };
    } catch (fault) {
      if (fault instanceof client.ResponseBodyError && fault.error === "invalid_grant") {
        return "ended";
      }
      throw fault;
    }
  }

  /** Undefined: the token proves nothing. Throws when the provider's keys cannot be read. */
  async verifyLogoutToken(token: string): Promise<LogoutToken | undefined> {
    const { logoutTokens } = await this.#discover();
    return await logoutTokens.verify(token);
  }

  async #discover(): Promise<Discovered> {
    const nowMs = this.#options.clock.monotonicMs();
    const issuer = this.#options.issuer().href;
    const known = this.#discovered;
    if (known?.issuer === issuer && nowMs < known.untilMs) return known;
    if (this.#failed !== undefined && nowMs < this.#failed.untilMs) {
      // What was found before is still good while the provider is away.
      if (known?.issuer === issuer) return known;
      throw this.#failed.fault;
    }
    this.#discovering ??= this.#read().finally(() => {
      this.#discovering = undefined;
    });
    try {
      return await this.#discovering;
    } catch (fault) {
      if (known?.issuer === issuer) return known;
      throw fault;
    }
  }

  async #read(): Promise<Discovered> {
    const { clock, clientId, clientSecret, fetch } = this.#options;
    const issuer = this.#options.issuer();
    const isPlain = issuer.protocol === "http:";
    try {
      const auth = clientSecret === "" ? client.None() : secretAuth(clientSecret);
      const config = await client.discovery(issuer, clientId, undefined, auth, {
        timeout: REQUEST_SECONDS_MAX,
        [client.customFetch]: fetch,
        execute: isPlain ? [checkSignatures, client.allowInsecureRequests] : [checkSignatures],
      });
      const metadata = config.serverMetadata();
      const logoutTokens = new LogoutTokenVerifier({ metadata, clientId, fetch, clock });
      const untilMs = clock.monotonicMs() + DISCOVERY_MS;
      this.#failed = undefined;
      this.#discovered = { issuer: issuer.href, config, logoutTokens, untilMs };
      return this.#discovered;
    } catch (cause) {
      const message = `the identity provider ${issuer.href} cannot be reached or is not an OpenID Connect provider`;
      const fault = new ProviderAwayFault(message, { cause });
      this.#failed = { untilMs: clock.monotonicMs() + DISCOVERY_PAUSE_MS, fault };
      throw fault;
    }
  }
}

/** The signature is checked although the token came straight from the provider. */
const checkSignatures = client.enableNonRepudiationChecks;

/** In the header, as the standard wants it, or in the body for a provider that takes no other way. */
function secretAuth(clientSecret: string): client.ClientAuth {
  const basic = client.ClientSecretBasic(clientSecret);
  const post = client.ClientSecretPost(clientSecret);
  return (server, metadata, body, headers) => {
    const ways = server.token_endpoint_auth_methods_supported;
    const isPost =
      ways?.includes("client_secret_basic") === false && ways.includes("client_secret_post");
    (isPost ? post : basic)(server, metadata, body, headers);
  };
}
