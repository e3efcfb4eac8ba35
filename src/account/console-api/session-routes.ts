import { Type } from "typebox";

import { capsInUsd, instant, MAY, type RequestStatus, usdOrNull } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { ReportGates } from "./concurrency-gate.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal, gone, missing } from "./console-refusal.ts";
import {
  BrowserSession,
  FirstRequest,
  Hold,
  type Session,
  type sessionRoutes,
  Settings,
} from "./contract/session.ts";
import type { Handlers } from "./handler.ts";
import { isOperator } from "./guard-request.ts";
import { readName, requireOrg } from "./read-values.ts";
import { presentReceived } from "./members-routes.ts";
import { readNotices } from "./notices.ts";
import {
  everyWalletLine,
  presentBalance,
  presentPurchase,
  presentTopUp,
} from "./billing-routes.ts";
import { present } from "./present.ts";
import { presentOperatorLimit } from "./operator-routes.ts";
import { policyShape } from "./contract/commands.ts";
import { presentEndpoint } from "./connections-routes.ts";
import { Connection } from "./contract/connections.ts";
import { Key } from "./contract/keys.ts";
import { Invitation, Member } from "./contract/members.ts";
import { CompanyData } from "./contract/statements.ts";
import { presentOrigin } from "./present-key.ts";
import { presentSearch } from "./optimize-routes.ts";
import { readAlerts } from "./alerts-routes.ts";

export function sessionHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof sessionRoutes> {
  const { identity, accounts, rules, reports, clock } = deps;
  return {
    "GET /api/console/session": ({ cookieHeader }) => readSession(deps, gates, cookieHeader),

    "POST /api/console/reveal": async ({ cookieHeader, by }) =>
      (await identity.reveal(cookieHeader, by)) ?? NOTHING_TO_REVEAL,

    "POST /api/console/reveal/saved": async ({ cookieHeader, by }) => {
      await identity.endReveal(cookieHeader, by);
      return { has_reveal: false };
    },

    "GET /api/console/first-request": async ({ session: { orgId } }) => {
      const requestId = await reports.firstSuccess(orgId);
      if (requestId !== undefined) return { request_id: requestId, refused: null };
      const nowMs = clock.nowMs();
      const range = { orgId, fromMs: nowMs - TRYING_MS, toMs: nowMs + SOON_MS };
      const { rows } = await reports.requests({ ...range, statuses: WITHOUT_ANSWER }, { limit: 1 });
      const [row] = rows;
      const refused = row === undefined ? null : { ...row, atMs: row.createdAtMs };
      return present(FirstRequest, { requestId: null, refused });
    },

    "GET /api/console/settings": ({ session }) => readSettings(deps, session),

    "PATCH /api/console/settings": async ({ session, body, by }) => {
      const name = body.name === undefined ? undefined : readName(body.name);
      if (name instanceof ConsoleRefusal) return name;
      const may = body.keys_may_set_org_limits;
      if (name !== undefined) await accounts.renameOrg(session.orgId, name, by);
      if (may !== undefined) await rules.setKeysMaySetOrgLimits(session.orgId, may, by);
      return await readSettings(deps, session);
    },

    "GET /api/console/sessions": ({ session }) => readSessions(deps, session),

    "POST /api/console/sessions/:session_id/end": async ({ session, params, by }) => {
      const isEnded = await identity.endOtherSession(session, params.session_id, by);
      return isEnded ? await readSessions(deps, session) : NO_SUCH_SESSION;
    },

    "GET /api/console/export.json": async ({ session }) => ({
      fileName: "token-market-export.json",
      pieces: exportPieces(deps, session),
    }),
  };
}

const NO_SUCH_SESSION = missing(
  "your account has no such session in another browser; it may have ended. Reload the page",
);

async function readSessions(
  { identity }: ConsoleDeps,
  session: SignedIn,
): Promise<{ sessions: BrowserSession[] }> {
  const listed = await identity.sessions(session);
  return { sessions: listed.map((each) => present(BrowserSession, each, { session_id: each.id })) };
}

/** How long an unsuccessful request is shown to a user who has had no successful one yet. */
const TRYING_MS = 3_600_000;
/** Extends the range beyond now, to include requests that arrive during the read. */
const SOON_MS = 60_000;

const WITHOUT_ANSWER = [
  "rejected_by_gateway",
  "rejected_by_provider",
  "failed",
  "cancelled",
] as const satisfies readonly RequestStatus[];

const NOTHING_TO_REVEAL = gone(
  "there is no key to show: a key is shown only once; create a new one on the keys page",
);

async function readSession(
  deps: ConsoleDeps,
  gates: ReportGates,
  cookieHeader: string | undefined,
): Promise<Session | ConsoleRefusal> {
  const session = await deps.identity.readSession(cookieHeader);
  const rest = { unfunded_rpm: deps.limitUse.limitDefaults.unfundedRequestsPerMinute };
  const installation = describeInstallation(deps);
  if (session === undefined) {
    const ended_reason = (await deps.identity.sessionEndReason(cookieHeader)) ?? null;
    return { ...ANONYMOUS, ...rest, ended_reason, installation };
  }
  const user = { email: session.email, name: session.name };
  const expires_at = instant(session.expiresAtMs);
  if (!session.isVerified) {
    return { ...ANONYMOUS, ...rest, state: "unverified", user, expires_at, installation };
  }
  const parts = await gates.rest.run(session.accountId, () =>
    Promise.all([
      readNotices(deps, session),
      deps.identity.organizations(session),
      deps.identity.hasReveal(cookieHeader),
      deps.team.store.received(session.accountId, deps.clock.nowMs()),
    ]),
  );
  if (parts instanceof ConsoleRefusal) return parts;
  const [{ org, balance, holds, notices }, joined, hasReveal, received] = parts;
  const unused = joined.find(({ isUnused }) => isUnused);
  return {
    ...rest,
    state: "signed_in",
    user,
    org: { org_id: org.orgId, name: org.name, role: session.role },
    may: [...MAY[session.role]],
    // The account's own organization is not offered while an invitation defers its start.
    others: joined
      .filter(({ orgId, isUnused }) => !isUnused && orgId !== session.orgId)
      .map(({ orgId, name }) => ({ org_id: orgId, name })),
    own_deferred: unused !== undefined,
    is_undecided: unused?.orgId === session.orgId,
    invitations: received.map((each) => presentReceived(each, true)),
    balance: presentBalance(balance),
    is_operator: isOperator(session, deps.operators),
    is_funded: org.isFunded,
    holds: holds.map((each) => present(Hold, each)),
    notices: [...notices],
    has_reveal: hasReveal,
    expires_at,
    installation,
  };
}

const ANONYMOUS = {
  state: "signed_out",
  user: null,
  org: null,
  may: [],
  others: [],
  own_deferred: false,
  is_undecided: false,
  invitations: [],
  balance: null,
  is_operator: false,
  is_funded: false,
  holds: [],
  notices: [],
  has_reveal: false,
  expires_at: null,
} satisfies Partial<Session>;

function describeInstallation(deps: ConsoleDeps): Session["installation"] {
  const { identity, billing, config, vault } = deps;
  return {
    gateway_url: deps.gatewayUrl(),
    console_url: deps.consoleUrl(),
    sign_in_name: identity.signInName,
    is_local_sign_in: identity.isLocal,
    is_test_money: billing.mode === "test",
    support: config.support || null,
    privacy_url: config.privacyUrl || null,
    terms_url: config.termsUrl || null,
    has_connections: vault !== undefined,
  };
}

async function readSettings(deps: ConsoleDeps, session: SignedIn): Promise<Settings> {
  const [org, profile] = await Promise.all([
    requireOrg(deps, session),
    deps.identity.profile(session),
  ]);
  return {
    user: present(Shown.user, { ...session, ...profile }),
    org: present(Shown.org, org),
    sessions: present(Shown.sessions, session, { others: profile.otherSessions }),
  };
}

const { properties: Shown } = Settings;

/**
 * An organization's data as one JSON document. Leaves out secrets, managed keys, alert deliveries
 * and what has its own download (attempts, monthly statements, the change log).
 */
async function* exportPieces(deps: ConsoleDeps, session: SignedIn): AsyncIterable<string> {
  const head = JSON.stringify(await readAccount(deps, session)).slice(0, -1);
  yield `${head},"credit_ledger":[`;
  let separator = "";
  for await (const entries of everyWalletLine(deps, session.orgId)) {
    if (entries.length === 0) continue;
    yield separator + entries.map((entry) => JSON.stringify(entry)).join(",");
    separator = ",";
  }
  yield "]}\n";
}

async function readAccount(deps: ConsoleDeps, session: SignedIn): Promise<object> {
  const { orgId, email, name } = session;
  const { accounts, rules, connections, billing, purchases } = deps;
  const { optimize, abuseRestrictions, catalog } = deps;
  const [org, profile, members, invitations, keys, limits] = await Promise.all([
    requireOrg(deps, session),
    deps.identity.profile(session),
    deps.team.store.members(orgId),
    deps.team.store.invitations(orgId),
    accounts.listOwnKeys(orgId),
    rules.listLimits(orgId),
  ]);
  const [policy, endpoints, holds, alerts, company] = await Promise.all([
    rules.findPolicy(orgId),
    rules.listEndpoints(orgId),
    abuseRestrictions.list({ orgId, isWithPast: true }),
    readAlerts(deps, session),
    deps.companies.find(orgId),
  ]);
  const known = new Set<string>(keys.map(({ keyId }) => keyId));
  return {
    exported_at: instant(deps.clock.nowMs()),
    user: present(ExportedUser, { email, name, ...profile }),
    organization: {
      org_id: orgId,
      name: org.name,
      email: org.email,
      created_at: instant(org.createdAtMs),
      cap_usd: usdOrNull(org.capMicroUsd),
      keys_may_set_org_limits: org.keysMaySetOrgLimits,
    },
    members: members.map((each) => present(ExportedMember, each)),
    invitations: invitations.map((each) => present(ExportedInvitation, each)),
    keys: keys.map((key) => ({
      ...present(ExportedKey, key, { origin: presentOrigin(key.origin) }),
      ...capsInUsd(key.caps),
    })),
    // A limit of a key that is not among the exported ones is left out: it would name that key.
    limits: limits
      .filter(({ keyId }) => keyId === undefined || known.has(keyId))
      .map(presentOperatorLimit),
    routing_policy: policy === undefined ? null : policyShape.show(policy),
    alerts: { rules: alerts.rules, destinations: alerts.destinations },
    connections: (await connections.list(orgId)).map((each) => present(Connection, each)),
    endpoints: endpoints.map((each) => presentEndpoint(catalog.current, each)),
    usage_holds: holds.map(({ family, state, createdAtMs }) => ({
      family,
      state,
      created_at: instant(createdAtMs),
    })),
    company: company === undefined ? null : present(CompanyData, company),
    top_up: presentTopUp(await billing.topUps?.read(orgId)),
    purchases: (await purchases.list(orgId, null)).map(presentPurchase),
    optimize_searches: (await optimize.list(orgId, null)).map(presentSearch),
  };
}

const KEY_FIELDS = ["key_id", "name", "label", "origin", "created_at"] as const;
const ExportedKey = Type.Pick(Key, [...KEY_FIELDS, "disabled_at", "expires_at", "models", "tags"]);
const ExportedUser = Type.Omit(Shown.user, ["is_verified"]);
const ExportedMember = Type.Omit(Member, ["last_seen_at", "is_you"]);
const ExportedInvitation = Type.Omit(Invitation, ["is_expired", "mailed_at"]);
