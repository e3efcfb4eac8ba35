import { AuthorizationResponseError } from "openid-client";

import { asText, assert, defined, isEmail, normaliseEmail } from "../../kernel/index.ts";
import { cookieJar, isToken, safeReturnPath } from "./browser-token.ts";
import type { AskingBrowser, Redirect, SignInClaim } from "./identity-store.ts";
import { faultMessage, plainText } from "./plain-text.ts";
import type { ProviderAnswer, RelyingParty } from "./relying-party.ts";
import { openPending, pendingKey, type PendingSignIn, sealPending } from "./sealed-text.ts";
import type { Sessions, SessionsOptions } from "./sessions.ts";

const PENDING_SECONDS = 600;
const CALLBACK_CHARS_MAX = 8_192;
const TEXT_CHARS_MAX = 300;
const ID_CHARS_MAX = 512;

export interface SignInsOptions extends Pick<
  SessionsOptions,
  "consoleUrl" | "store" | "clock" | "log" | "onSignIn"
> {
  readonly sessions: Sessions;
  readonly relyingParty: RelyingParty;
  readonly emailRules: EmailRules;
}

type Callback = AskingBrowser & { readonly url: string };

export class SignIns {
  readonly #options: SignInsOptions;
  #sealingKey: Promise<Buffer> | undefined;

  constructor(options: SignInsOptions) {
    this.#options = options;
  }

  /** Redirects to the provider. Ignores an unsafe `returnPath`. */
  async start(returnPath: string | undefined): Promise<Redirect> {
    try {
      return await this.#leave(returnPath, {}, null);
    } catch (fault) {
      this.#options.log.warn(faultMessage(fault), "a sign-in could not be started");
      return { location: "/sign-in?reason=failed", cookies: [] };
    }
  }

  /** Redirects to the provider without a prompt, to learn whether its session is still active. */
  async startRecheck(
    cookieHeader: string | undefined,
    returnPath: string | undefined,
  ): Promise<Redirect> {
    const { sessions, store, clock, log } = this.#options;
    const back = safeReturnPath(returnPath) ?? "/";
    const session = await sessions.readSession(cookieHeader);
    if (session === undefined) return { location: signInAgain("expired", back), cookies: [] };
    const sessionId = Buffer.from(session.sessionId, "hex");
    // The try is stored first, so a browser that never returns is not redirected on every page.
    await store.noteTried(sessionId, clock.nowMs());
    try {
      // With the hint, a person with several accounts at the provider is not asked to choose one.
      const silent = { prompt: "none", login_hint: session.email };
      return await this.#leave(back, silent, sessionId);
    } catch (fault) {
      log.warn(faultMessage(fault), "the identity provider's session check could not be started");
      return { location: back, cookies: [] };
    }
  }

  /** Goes to the `returnPath` of `start`, or to a page such as `/verify` or `/sign-in`. */
  async finish(callback: Callback): Promise<Redirect> {
    const { clock, consoleUrl } = this.#options;
    const jar = cookieJar(consoleUrl());
    const query = cutQuery(callback.url);
    const sealed = jar.read("tx", callback.cookieHeader);
    const state = new URLSearchParams(query).get("state") ?? "";
    const pending =
      sealed === undefined || !isToken(state)
        ? undefined
        : openPending(sealed, { state, key: await this.#key(), nowMs: clock.nowMs() });
    if (pending === undefined) return await this.#unexpected(callback);
    const { sessionId } = pending;
    const next =
      sessionId === null
        ? await this.#finishSignIn(callback, pending, query)
        : await this.#finishRecheck(callback, { ...pending, sessionId }, query);
    return { ...next, cookies: [jar.clear("tx"), ...next.cookies] };
  }

  async #leave(
    returnPath: string | undefined,
    parameters: Readonly<Record<string, string>>,
    sessionId: Buffer | null,
  ): Promise<Redirect> {
    const { relyingParty, clock, consoleUrl } = this.#options;
    const key = await this.#key();
    const { url, secrets } = await relyingParty.authorize(parameters);
    const pending = {
      ...secrets,
      returnPath: safeReturnPath(returnPath) ?? null,
      sessionId,
      expiresAtMs: clock.nowMs() + PENDING_SECONDS * 1_000,
    };
    const cookie = cookieJar(consoleUrl()).write("tx", sealPending(pending, key), PENDING_SECONDS);
    return { location: url, cookies: [cookie] };
  }

  /** Reads the sealing key once, so that later sign-ins can start without the store. */
  async #key(): Promise<Buffer> {
    this.#sealingKey ??= this.#options.store.consoleSecret().then(pendingKey);
    try {
      return await this.#sealingKey;
    } catch (fault) {
      this.#sealingKey = undefined;
      throw fault;
    }
  }

  /** Handles a callback without a pending sign-in: it is old, repeated, or from another browser. */
  async #unexpected({ cookieHeader, requestId }: Callback): Promise<Redirect> {
    const session = await this.#options.sessions.readSession(cookieHeader);
    if (session !== undefined) return { location: "/", cookies: [] };
    this.#options.log.warn(
      { requestId },
      "a sign-in callback without a pending sign-in was received",
    );
    return failed("failed", requestId);
  }

  async #finishSignIn(
    callback: Callback,
    pending: PendingSignIn,
    query: string,
  ): Promise<Redirect> {
    const { relyingParty, log, sessions, onSignIn } = this.#options;
    const { requestId } = callback;
    try {
      const answer = await relyingParty.redeem(query, pending);
      const claim = await this.#toClaim(answer);
      if (claim === undefined) {
        log.warn({ requestId }, "the identity provider names no usable e-mail address or subject");
        onSignIn?.("failed");
        return failed("failed", requestId);
      }
      const { returnPath } = pending;
      const found = { claim, sid: checkSid(answer.sid), returnPath };
      const started = await sessions.start(callback, found);
      assert(started !== undefined, "only a link can be used up");
      return started;
    } catch (fault) {
      const isDenied = isProviderError(fault, ["access_denied"]);
      log.warn({ requestId, ...faultMessage(fault) }, "a sign-in failed");
      onSignIn?.(isDenied ? "refused" : "failed");
      return failed(isDenied ? "denied" : "failed", requestId);
    }
  }

  async #toClaim(answer: ProviderAnswer): Promise<SignInClaim | undefined> {
    const { emailRules } = this.#options;
    const { issuer, subject, claims } = answer;
    if (subject === "" || subject.length > ID_CHARS_MAX || issuer.length > ID_CHARS_MAX) {
      return undefined;
    }
    const isShort = lacksEmailClaim(claims, emailRules);
    const more = isShort ? await answer.moreClaims() : {};
    // Address and verification are read from one source, since two could mean different addresses.
    const email = readEmailClaim(asText(more["email"]) === undefined ? claims : more, emailRules);
    if (email === undefined) return undefined;
    return {
      issuer,
      subject,
      ...email,
      name: plainText(asText(claims["name"] ?? more["name"]), TEXT_CHARS_MAX),
    };
  }

  async #finishRecheck(
    callback: Callback,
    pending: PendingSignIn & { readonly sessionId: Buffer },
    query: string,
  ): Promise<Redirect> {
    const { relyingParty, store, clock, log, sessions } = this.#options;
    const { sessionId } = pending;
    const back = pending.returnPath ?? "/";
    // If this browser's session was replaced in the meantime, there is nothing to check.
    const own = sessions.readToken(callback.cookieHeader);
    const session = await store.findSession(sessionId);
    if (session === undefined || own?.hash.equals(sessionId) !== true) {
      return { location: back, cookies: [] };
    }
    try {
      const answer = await relyingParty.redeem(query, pending);
      const isSame = answer.issuer === session.issuer && answer.subject === session.subject;
      if (!isSame) return await this.#ended(sessionId, back);
      const idpSid = checkSid(answer.sid);
      const nowMs = clock.nowMs();
      await store.noteChecked(sessionId, defined({ nowMs, idpSid }));
      return { location: back, cookies: [] };
    } catch (fault) {
      if (isProviderError(fault, ["login_required", "account_selection_required"])) {
        return await this.#ended(sessionId, back);
      }
      log.warn(
        faultMessage(fault),
        "the identity provider did not answer whether a session is still active",
      );
      return { location: back, cookies: [] };
    }
  }

  async #ended(sessionId: Buffer, back: string): Promise<Redirect> {
    const { store, clock } = this.#options;
    await store.endSession({ sessionId, reason: "idp-ended", nowMs: clock.nowMs() });
    return { location: signInAgain("idp-ended", back), cookies: [] };
  }
}

function cutQuery(url: string): string {
  const at = url.indexOf("?");
  return at === -1 || url.length > CALLBACK_CHARS_MAX ? "" : url.slice(at);
}

function signInAgain(reason: "expired" | "idp-ended", back: string): string {
  const query = new URLSearchParams({ reason, ...(back === "/" ? {} : { return: back }) });
  return `/sign-in?${query.toString()}`;
}

function failed(reason: "failed" | "denied", requestId: string): Redirect {
  const query = new URLSearchParams({ reason, request_id: requestId });
  return { location: `/sign-in?${query.toString()}`, cookies: [] };
}

function isProviderError(fault: unknown, errors: readonly string[]): boolean {
  return fault instanceof AuthorizationResponseError && errors.includes(fault.error);
}

function checkSid(sid: string | undefined): string | undefined {
  return sid !== undefined && sid.length <= ID_CHARS_MAX ? sid : undefined;
}

interface EmailRules {
  /** True if every address of this provider counts as verified. */
  readonly isTrusted: boolean;
  /** True if the text `"true"` counts as verified too. */
  readonly verifiedAsText: boolean;
}

type Claims = Readonly<Record<string, unknown>>;

/** Reads the person's e-mail address; undefined if it is missing or malformed. */
export function readEmailClaim(
  claims: Claims,
  rules: EmailRules,
): Pick<SignInClaim, "email" | "emailNorm" | "isVerified"> | undefined {
  const { email_verified: verified } = claims;
  const email = asText(claims["email"])?.trim();
  if (email === undefined || !isEmail(email)) return undefined;
  const isVerified =
    rules.isTrusted || verified === true || (rules.verifiedAsText && verified === "true");
  return { email, emailNorm: normaliseEmail(email), isVerified };
}

/** True if userinfo must be read: for the address, or for `email_verified` unless `isTrusted`. */
export function lacksEmailClaim(claims: Claims, rules: EmailRules): boolean {
  if (asText(claims["email"]) === undefined) return true;
  return claims["email_verified"] === undefined && !rules.isTrusted;
}
