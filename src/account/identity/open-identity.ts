import { createHash } from "node:crypto";

import {
  type Config,
  type Clock,
  Job,
  type Logger,
  type MicroUsd,
  type OrgId,
  parseUsd,
  normaliseEmail,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { boundedFetch, RelyingParty } from "./relying-party.ts";
import { hashToken, isToken } from "./browser-token.ts";
import {
  assertSafeConsole,
  IdentitySettingFault,
  parseIssuer,
  chooseSignInKind,
} from "./console-address.ts";
import type { AskedFrom, JoinedOrg } from "./identity-store.ts";
import type { IdentityStore } from "./postgres-identity-store.ts";
import type { AccountProfile, Identity, ListedSession, Redirect, SignedIn } from "./identity.ts";
import { createTrialKey, openRefreshTokens, type RefreshTokens } from "./sealed-text.ts";
import { Sessions, type SignInResult } from "./sessions.ts";
import { SignIns } from "./sign-ins.ts";

/** The settings that identity reads. */
export type IdentityConfig = Pick<
  Config,
  | "consoleUrl"
  | "host"
  | "oidcIssuer"
  | "oidcClientId"
  | "oidcClientSecret"
  | "oidcProviderName"
  | "oidcIsEmailTrusted"
  | "oidcVerifiedAsText"
  | "oidcRefresh"
  | "localSignIn"
  | "allowInsecureConsole"
  | "encryptionKey"
  | "welcomeUsd"
>;

export interface OpenIdentityOptions {
  readonly config: IdentityConfig;
  /** The console's origin, without a slash at the end; asked once requests come in. */
  readonly consoleUrl: () => string;
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** The current encryption keys. Default: those of the settings above. */
  readonly encryptionKey?: () => string;
  /** For metrics: how each sign-in that came back ended. */
  readonly onSignIn?: (result: SignInResult) => void;
}

/**
 * Opens sign-in. The identity provider is first contacted at the first sign-in, so a provider that
 * is down does not stop the start. Throws an `InsecureConsoleFault` or an `IdentitySettingFault`
 * for settings that cannot work.
 */
export function openIdentity(options: OpenIdentityOptions): Promise<Identity> {
  // A wrong setting rejects, as everything else that can go wrong here.
  return Promise.resolve().then(() => new OpenedIdentity(options));
}

class OpenedIdentity implements Identity {
  readonly signInName: string | null;
  readonly isLocal: boolean;
  readonly #store: IdentityStore;
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  readonly #signIns: SignIns | undefined;
  readonly #relyingParty: RelyingParty | undefined;
  readonly #welcomeMicroUsd: MicroUsd;
  readonly #sweeping: Job;

  constructor(options: OpenIdentityOptions) {
    const { config, store, clock, log, encryptionKey = () => config.encryptionKey } = options;
    assertSafeConsole(config);
    const kind = chooseSignInKind(config);
    const consoleUrl = (): string => options.consoleUrl().replace(/\/+$/, "");
    const common = { consoleUrl, store, clock, log };
    this.isLocal = kind === "local";
    this.#store = store;
    this.#welcomeMicroUsd = parseUsd(config.welcomeUsd) ?? ZERO_MICRO_USD;
    this.#clock = clock;
    let refreshTokens: RefreshTokens | undefined;
    if (kind === "oidc") {
      const issuer = parseIssuer(config.oidcIssuer);
      this.signInName = config.oidcProviderName === "" ? issuer.host : config.oidcProviderName;
      if (config.oidcRefresh) refreshTokens = openRefreshTokens(encryptionKey);
      this.#relyingParty = oidcParty(issuer, options, consoleUrl);
    } else {
      this.signInName = null;
    }
    const relyingParty = this.#relyingParty;
    const { onSignIn } = options;
    const welcomeMicroUsd = this.#welcomeMicroUsd;
    const signingIn = { ...common, relyingParty, refreshTokens, kind, welcomeMicroUsd, onSignIn };
    this.#sessions = new Sessions(signingIn);
    if (relyingParty !== undefined) {
      this.#signIns = new SignIns({
        ...common,
        sessions: this.#sessions,
        relyingParty,
        emailRules: {
          isTrusted: config.oidcIsEmailTrusted,
          verifiedAsText: config.oidcVerifiedAsText,
        },
        // Several providers give a refresh token only after consent was asked for.
        parameters: config.oidcRefresh ? { prompt: "consent" } : {},
        onSignIn,
      });
    }
    this.#sweeping = new Job(
      SWEEP_EVERY_MS,
      () => store.sweep(clock.nowMs()),
      (fault) => log.warn({ err: fault }, "expired sign-ins could not be deleted"),
    );
    this.#sweeping.start();
  }

  async startSignIn(asked: { readonly returnPath: string | undefined }): Promise<Redirect> {
    return (await this.#signIns?.start(asked.returnPath)) ?? signInsDisabled;
  }

  async finishSignIn(asked: Parameters<Identity["finishSignIn"]>[0]): Promise<Redirect> {
    return (await this.#signIns?.finish(asked)) ?? signInsDisabled;
  }

  async findLink(token: string): ReturnType<Identity["findLink"]> {
    if (!this.isLocal || !isToken(token)) return undefined;
    return await this.#store.links.findClaim(hashToken(token), this.#clock.nowMs());
  }

  async signInByLink(
    asked: Parameters<Identity["signInByLink"]>[0],
  ): Promise<Redirect | undefined> {
    // A token that was made up begins no transaction.
    if ((await this.findLink(asked.token)) === undefined) return undefined;
    const email = normaliseEmail(asked.email);
    const person = { issuer: LINK_ISSUER, subject: email, email, emailNorm: email, name: null };
    return await this.#sessions.start(asked, {
      claim: { ...person, isVerified: true },
      linkHash: hashToken(asked.token),
      returnPath: null,
    });
  }

  readSession(cookieHeader: string | undefined): Promise<SignedIn | undefined> {
    return this.#sessions.read(cookieHeader);
  }

  sessionEndReason(cookieHeader: string | undefined): ReturnType<Identity["sessionEndReason"]> {
    return this.#sessions.sessionEndReason(cookieHeader);
  }

  signOut(cookieHeader: string | undefined, from?: AskedFrom): Promise<Redirect> {
    return this.#sessions.signOut(cookieHeader, from);
  }

  isRecheckDue(session: SignedIn): boolean {
    const { recheckDueAtMs } = session;
    return recheckDueAtMs !== undefined && this.#clock.nowMs() >= recheckDueAtMs;
  }

  async startRecheck(asked: Parameters<Identity["startRecheck"]>[0]): Promise<Redirect> {
    const { cookieHeader, returnPath } = asked;
    return (await this.#signIns?.startRecheck(cookieHeader, returnPath)) ?? signInsDisabled;
  }

  async backChannelLogout(logoutToken: string): Promise<boolean> {
    const logout = await this.#relyingParty?.verifyLogoutToken(logoutToken);
    if (logout === undefined) return false;
    const nowMs = this.#clock.nowMs();
    return await this.#store.endByLogoutToken({
      ...logout,
      nowMs,
      rememberUntilMs: nowMs + LOGOUT_TOKEN_KEPT_MS,
    });
  }

  hasReveal(cookieHeader: string | undefined): Promise<boolean> {
    return this.#sessions.hasReveal(cookieHeader);
  }

  reveal(cookieHeader: string | undefined, from?: AskedFrom): ReturnType<Identity["reveal"]> {
    return this.#sessions.reveal(cookieHeader, from);
  }

  endReveal(cookieHeader: string | undefined, from?: AskedFrom): Promise<boolean> {
    return this.#sessions.endReveal(cookieHeader, from);
  }

  async profile({ accountId, sessionId }: SignedIn): Promise<AccountProfile> {
    const id = Buffer.from(sessionId, "hex");
    const [identities, otherSessions] = await Promise.all([
      this.#store.listIdentities(accountId),
      this.#store.countOtherSessions(accountId, id, this.#clock.nowMs()),
    ]);
    return { identities, otherSessions };
  }

  async sessions({ accountId, sessionId }: SignedIn): Promise<readonly ListedSession[]> {
    const listed = await this.#store.listSessions(accountId, this.#clock.nowMs());
    return listed.map(({ sessionId: hash, ...rest }) => ({
      id: listedId(hash),
      isThis: hash.toString("hex") === sessionId,
      ...rest,
    }));
  }

  async endOtherSession(session: SignedIn, id: string, from?: AskedFrom): Promise<boolean> {
    const nowMs = this.#clock.nowMs();
    const listed = await this.#store.listSessions(session.accountId, nowMs);
    const found = listed.find(({ sessionId }) => listedId(sessionId) === id);
    if (found === undefined || found.sessionId.toString("hex") === session.sessionId) return false;
    const end = { sessionId: found.sessionId, reason: "signed-out", nowMs } as const;
    return await this.#store.endSession({ ...end, ...(from === undefined ? {} : { from }) });
  }

  organizations({ accountId }: SignedIn): Promise<readonly JoinedOrg[]> {
    return this.#store.listOrgs(accountId);
  }

  switchOrganization({ sessionId }: SignedIn, orgId: string): Promise<boolean> {
    return this.#store.switchOrg(Buffer.from(sessionId, "hex"), orgId);
  }

  async startOwnOrganization(
    ...[cookieHeader, { accountId }, from]: Parameters<Identity["startOwnOrganization"]>
  ): Promise<OrgId | undefined> {
    const token = this.#sessions.readToken(cookieHeader);
    if (token === undefined) return undefined;
    return await this.#store.startOwnOrg({
      sessionId: token.hash,
      accountId,
      trialKey: createTrialKey(token, this.#clock.nowMs()),
      welcomeMicroUsd: this.#welcomeMicroUsd,
      ...(from === undefined ? {} : { from }),
    });
  }

  close(): Promise<void> {
    return this.#sweeping.close();
  }
}

/**
 * The id under which a session is listed for its owner: a hash of the stored one, which opens and
 * finds nothing.
 */
function listedId(sessionHash: Buffer): string {
  const digest = createHash("sha256").update("listed session").update(sessionHash).digest("hex");
  return `session_${digest.slice(0, LISTED_ID_CHARS)}`;
}
const LISTED_ID_CHARS = 32;

const SWEEP_EVERY_MS = 60_000;

/** Longer than a token is taken: within that time it works once. */
const LOGOUT_TOKEN_KEPT_MS = 15 * 60_000;

/** The issuer of people whom a link signed in: no identity provider can have it, for it is no address. */
const LINK_ISSUER = "console-link";

const signInsDisabled: Redirect = { location: "/sign-in?reason=failed", cookies: [] };

function oidcParty(
  issuer: URL,
  { config, clock }: OpenIdentityOptions,
  consoleUrl: () => string,
): RelyingParty {
  if (config.oidcClientId === "") {
    throw new IdentitySettingFault(
      "oidc.issuer is set and oidc.client_id (OIDC_CLIENT_ID) is not; register the console at the " +
        "identity provider and set the client id that it assigns",
    );
  }
  return new RelyingParty({
    issuer: () => issuer,
    clientId: config.oidcClientId,
    clientSecret: config.oidcClientSecret,
    redirectUri: () => `${consoleUrl()}/auth/callback`,
    scope: `openid email profile${config.oidcRefresh ? " offline_access" : ""}`,
    fetch: boundedFetch,
    clock,
  });
}
