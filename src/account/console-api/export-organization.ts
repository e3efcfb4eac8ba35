import { Type } from "typebox";

import { capsInUsd, instant, type OrgId, usdOrNull } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity.ts";
import { presentOperatorLimit } from "./operator-routes.ts";
import { policyShape } from "./contract/commands.ts";
import { everyWalletLine, presentPurchase } from "./billing-routes.ts";
import { presentConnection, presentEndpoint } from "./connections-routes.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { Key } from "./contract/keys.ts";
import { Invitation, Member } from "./contract/members.ts";
import { CompanyData } from "./contract/statements.ts";
import { requireOrg } from "./known-org.ts";
import { present } from "./present.ts";
import { presentOrigin } from "./present-key.ts";
import { presentSearch } from "./optimize-routes.ts";
import { readAlerts } from "./alerts-routes.ts";
import { presentTopUp } from "./top-up-routes.ts";

/**
 * Yields everything that is stored about an organization as one JSON document. It leaves out what
 * has files of its own (attempts, monthly statements and the change log), and all secrets of its
 * own and of provider keys.
 */
export async function* exportPieces(deps: ConsoleDeps, session: SignedIn): AsyncIterable<string> {
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
  const { accounts, rules, connections, billing, optimize, abuseRestrictions, catalog } = deps;
  const [org, profile, keys, limits, policy, endpoints, holds, alerts, company] = await Promise.all(
    [
      requireOrg(deps, session),
      deps.identity.profile(session),
      accounts.listOwnKeys(orgId),
      rules.listLimits(orgId),
      rules.findPolicy(orgId),
      rules.listEndpoints(orgId),
      abuseRestrictions.list({ orgId, isWithPast: true }),
      readAlerts(deps, session),
      deps.companies.find(orgId),
    ],
  );
  const known = new Set<string>(keys.map(({ keyId }) => keyId));
  return {
    exported_at: instant(deps.clock.nowMs()),
    user: {
      email,
      name,
      identities: profile.identities.map(({ issuer, linkedAtMs }) => ({
        issuer,
        linked_at: instant(linkedAtMs),
      })),
    },
    organization: {
      org_id: orgId,
      name: org.name,
      email: org.email,
      created_at: instant(org.createdAtMs),
      cap_usd: usdOrNull(org.capMicroUsd),
      keys_may_set_org_limits: org.keysMaySetOrgLimits,
    },
    ...(await exportedTeam(deps, orgId)),
    keys: keys.map((key) => ({
      ...present(ExportedKey, key, { origin: presentOrigin(key.origin) }),
      ...capsInUsd(key.caps),
    })),
    // Limits of managed keys are left out, because they would name these keys.
    limits: limits
      .filter(({ keyId }) => keyId === undefined || known.has(keyId))
      .map(presentOperatorLimit),
    routing_policy: policy === undefined ? null : policyShape.show(policy),
    alerts: { rules: alerts.rules, destinations: alerts.destinations },
    connections: (await connections.list(orgId)).map(presentConnection),
    endpoints: endpoints.map((each) => presentEndpoint(catalog.current, each)),
    usage_holds: holds.map(({ family, state, createdAtMs }) => ({
      family,
      state,
      created_at: instant(createdAtMs),
    })),
    company: company === undefined ? null : present(CompanyData, company),
    top_up: presentTopUp(await billing.topUps?.read(orgId)),
    purchases: (await billing.listPurchases(orgId, null)).map(presentPurchase),
    optimize_searches: (await optimize.list(orgId, null)).map(presentSearch),
  };
}

const KEY_FIELDS = ["key_id", "name", "label", "origin", "created_at"] as const;
const ExportedKey = Type.Pick(Key, [...KEY_FIELDS, "disabled_at", "expires_at", "models", "tags"]);
const ExportedMember = Type.Omit(Member, ["last_seen_at", "is_you"]);
const ExportedInvitation = Type.Omit(Invitation, ["is_expired", "mailed_at"]);

async function exportedTeam({ team }: ConsoleDeps, orgId: OrgId): Promise<object> {
  const [members, invitations] = await Promise.all([
    team.store.members(orgId),
    team.store.invitations(orgId),
  ]);
  return {
    members: members.map((member) => present(ExportedMember, member)),
    invitations: invitations.map((each) => present(ExportedInvitation, each)),
  };
}
