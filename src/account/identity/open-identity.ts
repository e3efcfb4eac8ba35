import { createHash } from "node:crypto";

import {
  type Clock,
  type Config,
  defined,
  Job,
  type MicroUsd,
  normaliseEmail,
  type OrgId,
  parseUsd,
  type Public,
  warnWith,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { RelyingParty } from "./relying-party.ts";
import { hashToken, isToken } from "./browser-token.ts";
import {
  type AddressConfig,
  assertSafeConsole,
  chooseSignInKind,
  IdentitySettingFault,
  parseIssuer,
} from "./console-address.ts";
import type {
  AccountProfile,
  AskedFrom,
  AskingBrowser,
  JoinedOrg,
  Redirect,
  SignedIn,
} from "./identity-store.ts";
import type { IdentityStore } from "./postgres-identity-store.ts";
import { createTrialKey } from "./sealed-text.ts";
import { Sessions, type SessionsOptions, type SignInResult } from "./sessions.ts";
import { SignIns } from "./sign-ins.ts";

export type Identity = Public<OpenedIdentity>;

export type IdentityConfig = AddressConfig &
  Pick<
    Config,
    | "oidcClientId"
    | "oidcClientSecret"
    | "oidcProviderName"
    | "oidcIsEmailTrusted"
    | "oidcVerifiedAsText"
    | "welcomeUsd"
  >;

export interface OpenIdentityOptions extends Pick<
  SessionsOptions,
  "consoleUrl" | "store" | "clock" | "log"
> {
  readonly config: IdentityConfig;
  readonly onSignIn?: (result: SignInResult) => void;
}

/**
 * Does not contact the identity provider, so the gateway starts while the provider is down. Rejects
 * with an `InsecureConsoleFault` or an `IdentitySettingFault` if the settings cannot work.
 */
export function openIdentity(options: OpenIdentityOptions): Promise<Identity> {
  // Inside `then`, a fault of the constructor rejects the promise instead of throwing here.
  return Promise.resolve().then(() => new OpenedIdentity(options));
}

/** A method that reads a cookie takes the whole `cookie` header. */
class OpenedIdentity extends Sessions {
  /** Null if no identity provider is configured. */
  readonly signInName: string | null;
  /** True if links made on this machine sign people in. */
  readonly isLocal: boolean;
  /** Undefined if no identity provider is configured. */
  readonly signIns: SignIns | undefined;
  readonly #store: IdentityStore;
  readonly #clock: Clock;
  readonly #relyingParty: RelyingParty | undefined;
  readonly #welcomeMicroUsd: MicroUsd;
  readonly #sweeping: Job;

  constructor(options: OpenIdentityOptions) {
    const { config, consoleUrl, store, clock, log, onSignIn } = options;
    assertSafeConsole(config);
    const kind = chooseSignInKind(config);
    const common = { consoleUrl, store, clock, log, onSignIn };
    const welcomeMicroUsd = parseUsd(config.welcomeUsd) ?? ZERO_MICRO_USD;
    super({ ...common, kind, welcomeMicroUsd });
    this.isLocal = kind === "local";
    this.#store = store;
    this.#welcomeMicroUsd = welcomeMicroUsd;
    this.#clock = clock;
    this.signInName = null;
    if (kind === "oidc") {
      const issuer = parseIssuer(config.oidcIssuer);
      this.signInName = config.oidcProviderName === "" ? issuer.host : config.oidcProviderName;
      this.#relyingParty = oidcParty(issuer, options);
      const { oidcIsEmailTrusted: isTrusted, oidcVerifiedAsText: verifiedAsText } = config;
      this.signIns = new SignIns({
        ...common,
        sessions: this,
        relyingParty: this.#relyingParty,
        emailRules: { isTrusted, verifiedAsText },
      });
    }
    const failed = warnWith(log, "expired sign-ins could not be deleted");
    this.#sweeping = new Job(SWEEP_EVERY_MS, () => store.sweep(clock.nowMs()), failed);
    this.#sweeping.start();
  }

  /** Finds a link by its token without using it up; undefined if it is used, expired or invalid. */
  async findLink(token: string): Promise<{ readonly email: string | null } | undefined> {
    if (!this.isLocal || !isToken(token)) return undefined;
    return await this.#store.links.findClaim(hashToken(token), this.#clock.nowMs());
  }

  /** Undefined if the link is used, expired, or for another address. */
  async signInByLink(
    asked: AskingBrowser & { readonly token: string; readonly email: string },
  ): Promise<Redirect | undefined> {
    // The token is checked first, so that an invalid one begins no transaction.
    if ((await this.findLink(asked.token)) === undefined) return undefined;
    const email = normaliseEmail(asked.email);
    const person = { issuer: LINK_ISSUER, subject: email, email, emailNorm: email, name: null };
    return await this.start(asked, {
      claim: { ...person, isVerified: true },
      linkHash: hashToken(asked.token),
      returnPath: null,
    });
  }

  /** True if the next page load must go to `/auth/recheck`. */
  isRecheckDue(session: SignedIn): boolean {
    const { recheckDueAtMs } = session;
    return recheckDueAtMs !== undefined && this.#clock.nowMs() >= recheckDueAtMs;
  }

  /** `POST /auth/backchannel-logout`: false if the token is invalid or was used before. */
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

  async profile({ accountId, sessionId }: SignedIn): Promise<AccountProfile> {
    const id = Buffer.from(sessionId, "hex");
    const [identities, otherSessions] = await Promise.all([
      this.#store.listIdentities(accountId),
      this.#store.countOtherSessions(accountId, id, this.#clock.nowMs()),
    ]);
    return { identities, otherSessions };
  }

  async sessions({ accountId, sessionId }: SignedIn) {
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
    const end = { sessionId: found.sessionId, reason: "signed-out", nowMs, from } as const;
    return await this.#store.endSession(defined(end));
  }

  organizations({ accountId }: SignedIn): Promise<readonly JoinedOrg[]> {
    return this.#store.listOrgs(accountId);
  }

  switchOrganization({ sessionId }: SignedIn, orgId: string): Promise<boolean> {
    return this.#store.switchOrg(Buffer.from(sessionId, "hex"), orgId);
  }

  /** Starts the trial that an invitation deferred; undefined if none was deferred. */
  async startOwnOrganization(
    cookieHeader: string | undefined,
    { accountId }: SignedIn,
    from?: AskedFrom,
  ): Promise<OrgId | undefined> {
    const token = this.readToken(cookieHeader);
    if (token === undefined) return undefined;
    const start = {
      sessionId: token.hash,
      accountId,
      trialKey: createTrialKey(token, this.#clock.nowMs()),
      welcomeMicroUsd: this.#welcomeMicroUsd,
    };
    return await this.#store.startOwnOrg(defined({ ...start, from }));
  }

  close(): Promise<void> {
    return this.#sweeping.close();
  }
}

/** Hashes the stored id for the list that the owner sees; the result cannot open the session. */
function listedId(sessionHash: Buffer): string {
  const digest = createHash("sha256").update("listed session").update(sessionHash).digest("hex");
  return `session_${digest.slice(0, LISTED_ID_CHARS)}`;
}
const LISTED_ID_CHARS = 32;

const SWEEP_EVERY_MS = 60_000;

/** A used logout token is remembered longer than it would be accepted, so it works only once. */
const LOGOUT_TOKEN_KEPT_MS = 15 * 60_000;

/** The issuer stored for sign-ins by a link. A provider's issuer is a URL, so it differs. */
const LINK_ISSUER = "console-link";

function oidcParty(issuer: URL, { config, consoleUrl, clock }: OpenIdentityOptions): RelyingParty {
  if (config.oidcClientId === "") {
    throw new IdentitySettingFault(
      "oidc.issuer is set and oidc.client_id (OIDC_CLIENT_ID) is not; register the console at the " +
        "identity provider and set the client id that it assigns",
    );
  }
  return new RelyingParty({
    issuer,
    clientId: config.oidcClientId,
    clientSecret: config.oidcClientSecret,
    redirectUri: () => `${consoleUrl()}/auth/callback`,
    clock,
  });
}
