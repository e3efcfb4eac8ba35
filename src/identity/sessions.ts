import type { Clock, Logger } from "../core/index.ts";
import { hashOf, type BrowserToken } from "./browser-token.ts";
import { cookieJar } from "./cookies.ts";
import { faultMessage } from "./fault-message.ts";
import type { AskedFrom, IdentityStore, StoredSession } from "./identity-store.ts";
import type { Redirect, RevealedKey, SignedIn } from "./identity.ts";
import type { RefreshTokens } from "./refresh-tokens.ts";
import type { RelyingParty } from "./relying-party.ts";
import { openReveal } from "./reveals.ts";
import {
  isRecheckOverdue,
  isRefreshDue,
  isRefreshOverdue,
  recheckDueAtMs,
  REFRESH_EVERY_MS,
  touchEveryMs,
} from "./session-check.ts";

export interface SessionsOptions {
  readonly consoleUrl: () => string;
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly relyingParty: RelyingParty | undefined;
  readonly refreshTokens: RefreshTokens | undefined;
  /** The bundled issuer has no session of its own that could end before ours. */
  readonly isLocal: boolean;
}

/** The sessions of browsers: who is signed in, why a session has ended, and signing out. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The session's token in a `cookie` header, with its hash. */
  tokenOf(cookieHeader: string | undefined): BrowserToken | undefined {
    const token = cookieJar(this.#options.consoleUrl()).read("session", cookieHeader);
    return token === undefined ? undefined : { token, hash: hashOf(token) };
  }

  async read(cookieHeader: string | undefined): Promise<SignedIn | undefined> {
    const { store, clock, relyingParty, isLocal } = this.#options;
    const token = this.tokenOf(cookieHeader);
    // Without sign-in no session is valid.
    if (token === undefined || relyingParty === undefined) return undefined;
    const nowMs = clock.nowMs();
    const session = await store.findSession(token.hash);
    if (session === undefined || !isLive(session, nowMs)) return undefined;
    const dueAtMs = isLocal ? undefined : recheckDueAtMs(session);
    if (!isLocal && !(await this.#livesAtProvider(token.hash, session))) return undefined;
    if (nowMs - session.lastSeenAtMs >= touchEveryMs) {
      const isRecheckDue = dueAtMs !== undefined && nowMs >= dueAtMs;
      await store.touchSession(token.hash, { nowMs, isRecheckDue });
    }
    return {
      sessionId: token.hash.toString("hex"),
      accountId: session.accountId,
      orgId: session.orgId,
      role: session.role,
      email: session.email,
      name: session.name,
      isVerified: session.isVerified,
      startedAtMs: session.startedAtMs,
      expiresAtMs: session.expiresAtMs,
      userAgent: session.userAgent,
      ...(dueAtMs === undefined ? {} : { recheckDueAtMs: dueAtMs }),
    };
  }

  async sessionEndReason(
    cookieHeader: string | undefined,
  ): Promise<"expired" | "signed-out" | "idp-ended" | undefined> {
    const token = this.tokenOf(cookieHeader);
    if (token === undefined) return undefined;
    const session = await this.#options.store.findSession(token.hash);
    if (session === undefined) return undefined;
    if (session.endedReason !== null) return session.endedReason;
    return session.expiresAtMs <= this.#options.clock.nowMs() ? "expired" : undefined;
  }

  async signOut(cookieHeader: string | undefined, from?: AskedFrom): Promise<Redirect> {
    const { store, clock, consoleUrl } = this.#options;
    const token = this.tokenOf(cookieHeader);
    if (token !== undefined) {
      const end = { sessionId: token.hash, reason: "signed-out", nowMs: clock.nowMs() } as const;
      await store.endSession({ ...end, ...(from === undefined ? {} : { from }) });
    }
    return {
      location: "/sign-in?reason=signed-out",
      cookies: [cookieJar(consoleUrl()).clear("session")],
    };
  }

  async hasReveal(cookieHeader: string | undefined): Promise<boolean> {
    const { store, clock } = this.#options;
    const token = await this.#liveToken(cookieHeader);
    if (token === undefined) return false;
    return (await store.findReveal(token.hash, clock.nowMs())) !== undefined;
  }

  async reveal(
    cookieHeader: string | undefined,
    from?: AskedFrom,
  ): Promise<RevealedKey | undefined> {
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

  async #liveToken(cookieHeader: string | undefined): Promise<BrowserToken | undefined> {
    const token = this.tokenOf(cookieHeader);
    if (token === undefined) return undefined;
    const session = await this.#options.store.findSession(token.hash);
    const isOpen = session !== undefined && isLive(session, this.#options.clock.nowMs());
    return isOpen ? token : undefined;
  }

  /**
   * False: the provider's session has ended, or its state was unknown for too long; ours has ended.
   */
  async #livesAtProvider(sessionId: Buffer, session: StoredSession): Promise<boolean> {
    const nowMs = this.#options.clock.nowMs();
    if (isRecheckOverdue(session, nowMs)) return await this.#end(sessionId);
    return isRefreshDue(session, nowMs) ? await this.#refresh(sessionId, session) : true;
  }

  async #refresh(sessionId: Buffer, session: StoredSession): Promise<boolean> {
    const { store, clock, relyingParty, refreshTokens, log } = this.#options;
    const nowMs = clock.nowMs();
    const when = { nowMs, notSinceMs: nowMs - REFRESH_EVERY_MS };
    const sealed = await store.claimRefresh(sessionId, when);
    // Another request of this browser is asking already.
    if (sealed === undefined) return true;
    const token = refreshTokens?.open(sealed, sessionId);
    try {
      if (relyingParty === undefined || refreshTokens === undefined || token === undefined) {
        throw new Error("the refresh token cannot be decrypted; was encryption_key changed?");
      }
      const outcome = await relyingParty.refresh(token, session.subject);
      if (outcome === "ended") return await this.#end(sessionId);
      const next = outcome.refreshToken;
      await store.noteChecked(sessionId, {
        nowMs,
        ...(next === undefined ? {} : { sealedRefresh: refreshTokens.seal(next, sessionId) }),
      });
      return true;
    } catch (fault) {
      log.warn(
        faultMessage(fault),
        "the identity provider did not answer whether a session is still active",
      );
      return isRefreshOverdue(session, nowMs) ? await this.#end(sessionId) : true;
    }
  }

  async #end(sessionId: Buffer): Promise<false> {
    const { store, clock } = this.#options;
    await store.endSession({ sessionId, reason: "idp-ended", nowMs: clock.nowMs() });
    return false;
  }
}

export function isLive(session: StoredSession, nowMs: number): boolean {
  return session.endedReason === null && nowMs < session.expiresAtMs;
}
