import {
  asStoreFault,
  type Clock,
  defined,
  ExpiringCache,
  type Logger,
  type MicroUsd,
  STORE_ANSWER_TIMEOUT_MS,
  Turns,
  UNKNOWN_KEY_MS,
  UNKNOWN_KEYS_MAX,
} from "../../kernel/index.ts";
import { type BrowserToken, cookieJar, hashToken, createBrowserToken } from "./browser-token.ts";
import type { SignInKind } from "./console-address.ts";
import type {
  AskedFrom,
  AskingBrowser,
  Redirect,
  ResolvedSignIn,
  SignedIn,
  SignInClaim,
  SignInToResolve,
  StoredSession,
} from "./identity-store.ts";
import { plainText } from "./plain-text.ts";
import type { IdentityStore } from "./postgres-identity-store.ts";
import { moveReveal, createTrialKey, openReveal } from "./sealed-text.ts";

const USER_AGENT_CHARS_MAX = 300;

export interface SessionsOptions {
  /** Called for requests only, since the address may be unknown before the console listens. */
  readonly consoleUrl: () => string;
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly kind: SignInKind;
  readonly welcomeMicroUsd: MicroUsd;
  readonly onSignIn?: ((result: SignInResult) => void) | undefined;
}

export type SignInResult = "signed_in" | "refused" | "failed";

export interface ProvedSignIn {
  readonly claim: SignInClaim;
  /** SHA-256 of the opened sign-in link; absent for a sign-in by an identity provider. */
  readonly linkHash?: Buffer;
  readonly sid?: string | undefined;
  readonly returnPath: string | null;
}

export class Sessions {
  readonly #options: SessionsOptions;
  /**
   * Limits concurrent reads: all together those of tokens not found lately, since anyone can send
   * such cookies, and those of each token that was.
   */
  readonly #reads = new Turns({
    running: SESSION_READS_MAX,
    waiting: Number.POSITIVE_INFINITY,
    waitMs: STORE_ANSWER_TIMEOUT_MS,
  });
  /** What was read of tokens that open nothing and never will. */
  readonly #final = new ExpiringCache<{ readonly session: StoredSession | undefined }>(
    UNKNOWN_KEY_MS,
    UNKNOWN_KEYS_MAX,
  );
  readonly #known = new ExpiringCache<true>(KNOWN_MS, UNKNOWN_KEYS_MAX);

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  readToken(cookieHeader: string | undefined): BrowserToken | undefined {
    const token = cookieJar(this.#options.consoleUrl()).read("session", cookieHeader);
    return token === undefined ? undefined : { token, hash: hashToken(token) };
  }

  /**
   * Finds or creates the account and starts this browser's session, as every kind of sign-in does.
   * Undefined if the link is used, expired, or for another address.
   */
  async start(browser: AskingBrowser, proved: ProvedSignIn): Promise<Redirect | undefined> {
    const { store, clock, log, consoleUrl, onSignIn } = this.#options;
    const { cookieHeader, userAgent, requestId, clientNetwork = null } = browser;
    const { claim, linkHash, sid = null, returnPath } = proved;
    const nowMs = clock.nowMs();
    const token = createBrowserToken();
    const previous = await this.#previous(cookieHeader, token);
    const signIn: SignInToResolve = {
      claim,
      nowMs,
      session: {
        sessionId: token.hash,
        expiresAtMs: nowMs + SESSION_MS,
        idpSid: sid,
        userAgent: plainText(userAgent, USER_AGENT_CHARS_MAX),
      },
      trialKey: createTrialKey(token, nowMs),
      welcomeMicroUsd: this.#options.welcomeMicroUsd,
      ...defined({ previous }),
      from: { requestId, clientNetwork },
    };
    const resolved = await store.resolveSignIn(signIn, linkHash);
    if (resolved === undefined) return undefined;
    const { accountId, kind, isEmailTaken } = resolved;
    log.info({ requestId, accountId, kind }, "sign-in completed");
    if (isEmailTaken) {
      log.warn(
        { requestId, accountId },
        "an account keeps its e-mail address: another account has the new one",
      );
    }
    onSignIn?.("signed_in");
    const cookie = cookieJar(consoleUrl()).write("session", token.token, SESSION_MS / 1_000);
    return { location: landing(resolved, returnPath), cookies: [cookie] };
  }

  async #previous(
    cookieHeader: string | undefined,
    to: BrowserToken,
  ): Promise<SignInToResolve["previous"]> {
    const { store, clock } = this.#options;
    const from = this.readToken(cookieHeader);
    if (from === undefined) return undefined;
    const reveal = await store.findReveal(from.hash, clock.nowMs());
    return {
      sessionId: from.hash,
      reveal: reveal === undefined ? undefined : moveReveal(reveal, { from, to }),
    };
  }

  /** Undefined if the browser has no live session. Ends a session whose recheck is overdue. */
  async readSession(cookieHeader: string | undefined): Promise<SignedIn | undefined> {
    const { store, clock, kind } = this.#options;
    const token = this.readToken(cookieHeader);
    if (token === undefined || kind === "none") return undefined;
    const nowMs = clock.nowMs();
    const session = await this.#find(token.hash);
    if (session === undefined || !isLive(session, nowMs)) return undefined;
    if (kind === "oidc" && isRecheckOverdue(session, nowMs)) {
      await store.endSession({ sessionId: token.hash, reason: "idp-ended", nowMs });
      return undefined;
    }
    const dueAtMs = kind === "oidc" ? recheckDueAtMs(session) : undefined;
    if (nowMs - session.lastSeenAtMs >= TOUCH_EVERY_MS) {
      // A try without an answer makes no recheck less due.
      const dueIfCheckedByMs = kind === "oidc" ? nowMs - RECHECK_EVERY_MS : null;
      await store.touchSession(token.hash, { nowMs, dueIfCheckedByMs });
    }
    const { accountId, orgId, role, email, name, isVerified, startedAtMs, expiresAtMs } = session;
    const sessionId = token.hash.toString("hex");
    const { userAgent } = session;
    const known = { sessionId, accountId, orgId, role, email, name, isVerified };
    const lasting = { startedAtMs, expiresAtMs, userAgent };
    return { ...known, ...lasting, ...defined({ recheckDueAtMs: dueAtMs }) };
  }

  /** Says why the session has ended; undefined if the cookie names no session or a live one. */
  async sessionEndReason(
    cookieHeader: string | undefined,
  ): Promise<"expired" | "signed-out" | "idp-ended" | undefined> {
    const token = this.readToken(cookieHeader);
    if (token === undefined) return undefined;
    const session = await this.#find(token.hash);
    if (session === undefined) return undefined;
    if (session.endedReason !== null) return session.endedReason;
    return session.expiresAtMs <= this.#options.clock.nowMs() ? "expired" : undefined;
  }

  async signOut(cookieHeader: string | undefined, from?: AskedFrom): Promise<Redirect> {
    const { store, clock, consoleUrl } = this.#options;
    const token = await this.#liveToken(cookieHeader);
    if (token !== undefined) {
      const end = { sessionId: token.hash, reason: "signed-out", nowMs: clock.nowMs() } as const;
      await store.endSession(defined({ ...end, from }));
    }
    return {
      location: "/sign-in?reason=signed-out",
      cookies: [cookieJar(consoleUrl()).clear("session")],
    };
  }

  /** True if this browser's session has a key that its owner has not saved yet. */
  async hasReveal(cookieHeader: string | undefined): Promise<boolean> {
    const { store, clock } = this.#options;
    const token = await this.#liveToken(cookieHeader);
    if (token === undefined) return false;
    return (await store.findReveal(token.hash, clock.nowMs()))?.isHere === true;
  }

  /** Returns the session's trial key, if it has one, for 15 minutes or until `endReveal`. */
  async reveal(cookieHeader: string | undefined, from?: AskedFrom) {
    const { store, clock } = this.#options;
    const token = await this.#liveToken(cookieHeader);
    if (token === undefined) return undefined;
    const sealed = await store.showReveal(token.hash, clock.nowMs(), from);
    const key = sealed === undefined ? undefined : openReveal(sealed, token);
    if (sealed === undefined || key === undefined) return undefined;
    return { key, label: sealed.label, name: sealed.name };
  }

  async endReveal(cookieHeader: string | undefined, from?: AskedFrom): Promise<boolean> {
    const { store, clock } = this.#options;
    const token = await this.#liveToken(cookieHeader);
    return token !== undefined && (await store.endReveal(token.hash, clock.nowMs(), from));
  }

  /**
   * Caches for a moment that a session has ended or a token is unknown, which stays true: a new
   * session gets a new token. Reads of a token that was found recently wait only for each other.
   */
  async #find(hash: Buffer): Promise<StoredSession | undefined> {
    const { store, clock } = this.#options;
    const id = hash.toString("base64");
    const nowMs = clock.monotonicMs();
    const final = this.#final.get(id, nowMs);
    if (final !== undefined) return final.session;
    const isKnown = this.#known.get(id, nowMs) === true;
    const end = await (isKnown ? this.#reads.take(id, KNOWN_WAIT_MS) : this.#reads.take("all"));
    if (end === undefined) throw asStoreFault(new Error("a read of a session waited too long"));
    try {
      // Another request may have looked the token up while this one waited.
      const readAtMs = clock.monotonicMs();
      const read = this.#final.get(id, readAtMs);
      if (read !== undefined) return read.session;
      const session = await store.findSession(hash);
      if (session !== undefined) this.#known.set(id, true, readAtMs);
      const isFinal = session === undefined || !isLive(session, clock.nowMs());
      if (isFinal) this.#final.set(id, { session }, readAtMs);
      return session;
    } finally {
      end();
    }
  }

  async #liveToken(cookieHeader: string | undefined): Promise<BrowserToken | undefined> {
    const token = this.readToken(cookieHeader);
    if (token === undefined) return undefined;
    const session = await this.#find(token.hash);
    const isOpen = session !== undefined && isLive(session, this.#options.clock.nowMs());
    return isOpen ? token : undefined;
  }
}

function landing(
  { isVerified, hasReveal, isInvited }: ResolvedSignIn,
  returnPath: string | null,
): string {
  if (!isVerified) return "/verify";
  // An invited person first decides whether to join.
  if (isInvited) return "/join";
  return hasReveal ? "/welcome" : (returnPath ?? "/");
}

export function isLive(session: StoredSession, nowMs: number): boolean {
  return session.endedReason === null && nowMs < session.expiresAtMs;
}

/** Fewer than the default connections of the pool, which serves the gateway's calls too. */
const SESSION_READS_MAX = 3;
/** For this time after a token was found, its reads do not wait for those of other tokens. */
const KNOWN_MS = 60_000;
/** A browser that asks for much at once waits only for itself. */
const KNOWN_WAIT_MS = 10_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A session ends at the latest this long after its sign-in; use does not extend it. */
const SESSION_MS = 7 * 24 * HOUR_MS;
/** The last use of a session is written at most this often. */
const TOUCH_EVERY_MS = MINUTE_MS;
/** While a session is in use, its browser goes to the provider for a recheck at this interval. */
const RECHECK_EVERY_MS = 12 * HOUR_MS;
/** A browser that did not return from the provider is sent again after this time. */
const RECHECK_PAUSE_MS = HOUR_MS;
/** A session stays usable for this time while its browser brings no answer from the provider. */
const RECHECK_PATIENCE_MS = 12 * HOUR_MS;

type Checked = Pick<StoredSession, "idpCheckedAtMs" | "idpTriedAtMs" | "recheckAskedAtMs">;

/** The time from which page loads of the browser go to the provider for a recheck. */
export function recheckDueAtMs(session: Checked): number {
  const { idpCheckedAtMs, idpTriedAtMs } = session;
  const isTried = idpTriedAtMs > idpCheckedAtMs;
  const dueMs = idpCheckedAtMs + RECHECK_EVERY_MS;
  return isTried ? Math.max(dueMs, idpTriedAtMs + RECHECK_PAUSE_MS) : dueMs;
}

/**
 * True if a session was used for too long without an answer from the provider. The time begins with
 * the first use after the recheck became due, so the session of a person who returns after a day
 * does not end before the provider was asked.
 */
export function isRecheckOverdue(session: Checked, nowMs: number): boolean {
  const { recheckAskedAtMs } = session;
  return recheckAskedAtMs !== null && nowMs - recheckAskedAtMs >= RECHECK_PATIENCE_MS;
}
