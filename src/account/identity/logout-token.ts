import * as jose from "jose";
import type { CustomFetch, ServerMetadata } from "openid-client";
import { Type } from "typebox";

import { type Clock, conforms } from "../../kernel/index.ts";

const TOKEN_CHARS_MAX = 16_384;
const ID_CHARS_MAX = 512;
const AGE_SECONDS_MAX = 120;
const KEYS_TIMEOUT_MS = 5_000;
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Signatures with a key that only the provider has. */
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

/** Whose sessions end: all of the subject, or the one of `sid`. */
export interface LogoutToken {
  readonly issuer: string;
  readonly tokenId: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
}

/** Checks tokens by which a provider says that its session has ended (OpenID back-channel logout). */
export class LogoutTokenVerifier {
  readonly #metadata: ServerMetadata;
  readonly #clientId: string;
  readonly #clock: Clock;
  readonly #keys: jose.JWTVerifyGetKey | undefined;

  constructor(options: {
    readonly metadata: ServerMetadata;
    readonly clientId: string;
    readonly fetch: CustomFetch;
    readonly clock: Clock;
  }) {
    this.#metadata = options.metadata;
    this.#clientId = options.clientId;
    this.#clock = options.clock;
    this.#keys = keysOf(options.metadata, options.fetch);
  }

  /** Undefined: it proves nothing. Throws when the provider's keys cannot be read. */
  async verify(token: string): Promise<LogoutToken | undefined> {
    if (this.#keys === undefined || token.length > TOKEN_CHARS_MAX) return undefined;
    try {
      const { payload, protectedHeader } = await jose.jwtVerify(token, this.#keys, {
        issuer: this.#metadata.issuer,
        audience: this.#clientId,
        algorithms: algorithmsOf(this.#metadata),
        requiredClaims: ["iat", "jti"],
        clockTolerance: AGE_SECONDS_MAX,
        currentDate: new Date(this.#clock.nowMs()),
      });
      if (!isLogoutType(protectedHeader.typ)) return undefined;
      return readLogout(payload, this.#clock.nowMs());
    } catch (fault) {
      if (fault instanceof jose.errors.JOSEError && !isUnread(fault)) return undefined;
      throw fault;
    }
  }
}

/**
 * What a token with a good signature says; undefined: it is not a logout token, or too old a one.
 */
export function readLogout(
  payload: Readonly<Record<string, unknown>>,
  nowMs: number,
): LogoutToken | undefined {
  // An id token has a nonce: none of those may pass for a logout.
  if (payload["nonce"] !== undefined || !isLogout(payload)) return undefined;
  const { iss, iat, jti, sub, sid } = payload;
  if (Math.abs(nowMs / 1_000 - iat) > AGE_SECONDS_MAX) return undefined;
  if (sub === undefined && sid === undefined) return undefined;
  return { issuer: iss, tokenId: jti, subject: sub, sid };
}

function keysOf(metadata: ServerMetadata, fetch: CustomFetch): jose.JWTVerifyGetKey | undefined {
  const { jwks_uri: uri, issuer } = metadata;
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  if (issuer.startsWith("https:") && !uri.startsWith("https:")) return undefined;
  return jose.createRemoteJWKSet(new URL(uri), {
    timeoutDuration: KEYS_TIMEOUT_MS,
    [jose.customFetch]: (url, options) =>
      fetch(url, {
        body: null,
        headers: Object.fromEntries(options.headers),
        method: options.method,
        redirect: options.redirect,
        signal: options.signal,
      }),
  });
}

function algorithmsOf(metadata: ServerMetadata): string[] {
  const named = metadata.id_token_signing_alg_values_supported ?? [];
  const known = [...ASYMMETRIC, "EdDSA", "Ed25519"];
  const shared = known.filter((each) => named.includes(each));
  return shared.length > 0 ? shared : known;
}

/** Older providers write `JWT` or nothing. */
function isLogoutType(type: string | undefined): boolean {
  return type === undefined || /^(application\/)?(logout\+)?jwt$/i.test(type);
}

/** The provider's keys could not be read: that says nothing about the token. */
function isUnread(fault: jose.errors.JOSEError): boolean {
  return fault instanceof jose.errors.JWKSTimeout || fault.code === "ERR_JOSE_GENERIC";
}
