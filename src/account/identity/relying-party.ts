import * as jose from "jose";
import * as client from "openid-client";
import type { CustomFetch, ServerMetadata } from "openid-client";
import { Type } from "typebox";

import { type Clock, conforms, asText, Fault } from "../../kernel/index.ts";
import type { LogoutOrder } from "./identity-store.ts";

const REQUEST_SECONDS_MAX = 10;
const DISCOVERY_MS = 3_600_000;
/** After a failed read of the provider's metadata, no request reads them again for this time. */
const DISCOVERY_PAUSE_MS = 2_000;

export interface RelyingPartyOptions {
  readonly issuer: URL;
  readonly clientId: string;
  /** Empty for a public client, which authenticates with PKCE alone. */
  readonly clientSecret: string;
  readonly redirectUri: () => string;
  readonly clock: Clock;
}

export class ProviderAwayFault extends Fault {}

export interface ProviderAnswer {
  readonly issuer: string;
  readonly subject: string;
  readonly sid: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Fetches further claims from the userinfo endpoint; empty if there is no such endpoint. */
  moreClaims(): Promise<Readonly<Record<string, unknown>>>;
}

export type SignInSecrets = Readonly<Record<"state" | "nonce" | "codeVerifier", string>>;

interface Discovered {
  readonly config: client.Configuration;
  readonly verifyLogout: (token: string) => Promise<LogoutToken | undefined>;
  readonly untilMs: number;
}

/** Reads the provider's metadata on demand, at most hourly while the provider can be reached. */
export class RelyingParty {
  readonly #options: RelyingPartyOptions;
  #discovered: Discovered | undefined;
  #discovering: Promise<Discovered> | undefined;
  #failed: { readonly untilMs: number; readonly fault: ProviderAwayFault } | undefined;

  constructor(options: RelyingPartyOptions) {
    this.#options = options;
  }

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
      scope: "openid email profile",
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(secrets.codeVerifier),
      code_challenge_method: "S256",
      ...extra,
    });
    return { url: url.href, secrets };
  }

  /**
   * Exchanges the code of the callback for the person's claims. Throws a `ProviderAwayFault` if the
   * provider's metadata cannot be read, else the errors of `openid-client`: an
   * `AuthorizationResponseError` is the provider's refusal.
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
      sid: asText(claims["sid"]),
      claims,
      moreClaims: async () => {
        if (config.serverMetadata().userinfo_endpoint === undefined) return {};
        return { ...(await client.fetchUserInfo(config, tokens.access_token, subject)) };
      },
    };
  }

  /** Undefined if the token is invalid. Throws if the metadata or the keys cannot be read. */
  async verifyLogoutToken(token: string): Promise<LogoutToken | undefined> {
    const { verifyLogout } = await this.#discover();
    return await verifyLogout(token);
  }

  async #discover(): Promise<Discovered> {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#discovered;
    if (known !== undefined && nowMs < known.untilMs) return known;
    if (this.#failed !== undefined && nowMs < this.#failed.untilMs) {
      // Metadata that were read before stay in use while the provider is unreachable.
      if (known !== undefined) return known;
      throw this.#failed.fault;
    }
    this.#discovering ??= this.#read().finally(() => {
      this.#discovering = undefined;
    });
    try {
      return await this.#discovering;
    } catch (fault) {
      if (known !== undefined) return known;
      throw fault;
    }
  }

  async #read(): Promise<Discovered> {
    const { issuer, clock, clientId, clientSecret } = this.#options;
    const isPlain = issuer.protocol === "http:";
    try {
      const auth = clientSecret === "" ? client.None() : secretAuth(clientSecret);
      const config = await client.discovery(issuer, clientId, undefined, auth, {
        timeout: REQUEST_SECONDS_MAX,
        [client.customFetch]: boundedFetch,
        execute: isPlain ? [checkSignatures, client.allowInsecureRequests] : [checkSignatures],
      });
      const metadata = config.serverMetadata();
      const verifyLogout = openLogoutVerifier(metadata, this.#options);
      const untilMs = clock.monotonicMs() + DISCOVERY_MS;
      this.#failed = undefined;
      this.#discovered = { config, verifyLogout, untilMs };
      return this.#discovered;
    } catch (cause) {
      const message = `the identity provider ${issuer.href} cannot be reached or is not an OpenID Connect provider`;
      const fault = new ProviderAwayFault(message, { cause });
      this.#failed = { untilMs: clock.monotonicMs() + DISCOVERY_PAUSE_MS, fault };
      throw fault;
    }
  }
}

/** The id token's signature is checked although the token came straight from the provider. */
const checkSignatures = client.enableNonRepudiationChecks;

/** Sends the secret in the header, or in the body if the provider accepts it there only. */
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

const TOKEN_CHARS_MAX = 16_384;
const ID_CHARS_MAX = 512;
const AGE_SECONDS_MAX = 120;
const KEYS_TIMEOUT_MS = 5_000;
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Asymmetric signature algorithms, so that nobody but the provider has the signing key. */
const ASYMMETRIC = ["RS", "PS", "ES"].flatMap((kind) => ["256", "384", "512"].map((n) => kind + n));

const id = Type.String({ minLength: 1, maxLength: ID_CHARS_MAX });
const isLogout = conforms(
  Type.Object({
    iss: Type.String(),
    iat: Type.Number(),
    jti: id,
    sub: Type.Optional(id),
    sid: Type.Optional(id),
    events: Type.Object({ [LOGOUT_EVENT]: Type.Object({}) }),
  }),
);

type LogoutToken = Omit<LogoutOrder, "nowMs" | "rememberUntilMs">;

/** Verifies tokens by which a provider reports that a session has ended (Back-Channel Logout). */
function openLogoutVerifier(
  metadata: ServerMetadata,
  { clientId, clock }: RelyingPartyOptions,
): Discovered["verifyLogout"] {
  const keys = openKeySet(metadata);
  return async (token) => {
    if (keys === undefined || token.length > TOKEN_CHARS_MAX) return undefined;
    try {
      const { payload, protectedHeader } = await jose.jwtVerify(token, keys, {
        issuer: metadata.issuer,
        audience: clientId,
        algorithms: chooseAlgorithms(metadata),
        requiredClaims: ["iat", "jti"],
        clockTolerance: AGE_SECONDS_MAX,
        currentDate: new Date(clock.nowMs()),
      });
      if (!isLogoutType(protectedHeader.typ)) return undefined;
      return readLogout(payload, clock.nowMs());
    } catch (fault) {
      if (fault instanceof jose.errors.JOSEError && !isUnread(fault)) return undefined;
      throw fault;
    }
  };
}

/** Undefined for another kind of token, or if its time differs from now by more than 2 minutes. */
export function readLogout(
  payload: Readonly<Record<string, unknown>>,
  nowMs: number,
): LogoutToken | undefined {
  // An id token has a nonce; it must not pass for a logout token.
  if (payload["nonce"] !== undefined || !isLogout(payload)) return undefined;
  const { iss, iat, jti, sub, sid } = payload;
  if (Math.abs(nowMs / 1_000 - iat) > AGE_SECONDS_MAX) return undefined;
  if (sub === undefined && sid === undefined) return undefined;
  return { issuer: iss, tokenId: jti, subject: sub, sid };
}

function openKeySet({ jwks_uri: uri, issuer }: ServerMetadata): jose.JWTVerifyGetKey | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  if (issuer.startsWith("https:") && !uri.startsWith("https:")) return undefined;
  return jose.createRemoteJWKSet(new URL(uri), {
    timeoutDuration: KEYS_TIMEOUT_MS,
    [jose.customFetch]: (url, options) =>
      boundedFetch(url, { ...options, body: null, headers: Object.fromEntries(options.headers) }),
  });
}

function chooseAlgorithms(metadata: ServerMetadata): string[] {
  const named = metadata.id_token_signing_alg_values_supported ?? [];
  const known = [...ASYMMETRIC, "EdDSA", "Ed25519"];
  const shared = known.filter((each) => named.includes(each));
  return shared.length > 0 ? shared : known;
}

/** Also accepts the type `JWT` and a token without a type, which older providers send. */
function isLogoutType(type: string | undefined): boolean {
  return type === undefined || /^(application\/)?(logout\+)?jwt$/i.test(type);
}

/** True if the provider's keys could not be fetched, so that the token could not be checked. */
function isUnread(fault: jose.errors.JOSEError): boolean {
  return fault instanceof jose.errors.JWKSTimeout || fault.code === "ERR_JOSE_GENERIC";
}

const ANSWER_BYTES_MAX = 1_048_576;

/**
 * An answer longer than 1 MiB is a fault, whatever its declared length. The caller's signal limits
 * the time.
 */
const boundedFetch: CustomFetch = async (url, options) => {
  const answer = await fetch(url, {
    method: options.method,
    headers: options.headers,
    redirect: "manual",
    body: options.body ?? null,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const body = answer.body === null ? null : await readAll(answer.body);
  const { status, statusText } = answer;
  const headers = new Headers(answer.headers);
  // `fetch` has decoded the body, so these two headers no longer describe it.
  headers.delete("content-encoding");
  headers.delete("content-length");
  // `new Response` throws for these statuses if it gets a body, even an empty one.
  const hasBody = ![204, 205, 304].includes(status);
  return new Response(hasBody ? body : null, { status, statusText, headers });
};

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error("the identity provider's answer is too long");
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}
