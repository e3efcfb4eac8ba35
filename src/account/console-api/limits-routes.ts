import {
  byLimit,
  type EndpointRecord,
  endpointScope,
  findSource,
  type KeySummary,
  LIMIT_NAMES,
  type LimitedKey,
  type LimitRow,
  limitRows,
  makeLimitChange,
  orgLimitRows,
  orgSlot,
  type OrgSummary,
  planLimitChange,
  presentChangedLimit,
  readLimitRequest,
  readLimitUse,
  readOrgScopes,
  type ScopeClaim,
  type ScopeUsage,
  type StoredLimit,
  toPrincipal,
  type UsedScope,
} from "../../gateway/index.ts";
import { instant, type KeyId, type OrgId, ZERO_MICRO_USD } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import { askAboutCap } from "./ask-about-cap.ts";
import type { ConsoleDeps, OperationDeps } from "./console-deps.ts";
import { ConsoleRefusal, missing, notFound, ofGateway } from "./console-refusal.ts";
import type { AnswerOf, LimitRow as LimitsRow, Limits } from "./contract.ts";
import { Cap, type limitRoutes } from "./contract/keys.ts";
import { present } from "./present.ts";
import { presentRefusal } from "./present-refusal.ts";
import type { Acting, Call, Handlers } from "./handler.ts";
import { readCap, requireOrg } from "./read-values.ts";
import { findRequest } from "./usage-routes.ts";
import { isActive, type LimitContext, limitedKey } from "./present-key.ts";

export function capHandlers(
  deps: OperationDeps,
): Handlers<"GET /api/console/limits" | "PATCH /api/console/org-cap"> {
  return {
    "GET /api/console/limits": ({ session }) => readLimits(deps, session),
    "PATCH /api/console/org-cap": async ({ session, body, by }) => {
      const cap = readCap(body.cap_usd);
      const question = await askAboutCap(deps, session, { cap, confirm: body.confirm });
      if (question !== undefined) return question;
      if (cap !== undefined) await deps.accounts.setOrgCap(session.orgId, cap, by);
      return await readLimits(deps, session);
    },
  };
}

export function limitHandlers(deps: ConsoleDeps): Handlers<keyof typeof limitRoutes> {
  return {
    ...capHandlers(deps),

    "POST /api/admission-limits": (call) => changeLimit(deps, call),

    "GET /api/console/refusals/:request_id": async ({ session, params }) => {
      const found = await findRequest(deps, session.orgId, params.request_id);
      if (found === undefined) return notFound("request");
      const { requestId, createdAtMs, errorClass, status } = found.request;
      // A request that succeeded or was cancelled can have an error class too: that of
      // impossible token counts or costs.
      const isNeither = status === "succeeded" || status === "cancelled";
      if (errorClass === null || isNeither) return NOT_REFUSED;
      return {
        request_id: requestId,
        at: instant(createdAtMs),
        ...presentRefusal(found.request, found.refused ?? { errorClass, reason: null }),
      };
    },
  };
}

const NOT_REFUSED = missing("this request was not rejected; its page shows the result");

/** Does the same as the gateway's own route for limits. A managed key counts as unknown. */
async function changeLimit(
  deps: ConsoleDeps,
  { session, rawBody, by }: Call<"POST /api/admission-limits">,
): Promise<AnswerOf<"POST /api/admission-limits"> | ConsoleRefusal> {
  const { limitUse, rules } = deps;
  const read = readLimitRequest(rawBody);
  if (!read.ok) return ofGateway(read.refusal);
  const { request } = read;
  const { keyId } = request;
  if (keyId !== undefined) {
    // PostgreSQL rejects U+0000 in any text, so such an id is unknown.
    const isText = !keyId.includes("\0");
    const key = isText ? await deps.accounts.findKey(session.orgId, keyId) : undefined;
    if (key === undefined) return notFound("key");
  }
  const actor = { kind: "person", orgId: session.orgId } as const;
  const planned = await planLimitChange({ ...limitUse, rules }, actor, request);
  if (!planned.ok) return ofGateway(planned.refusal);
  const made = await makeLimitChange(rules, planned, by);
  if (!made.ok) return ofGateway(made.refusal);
  return presentChangedLimit(made.stored, await readChangedScopes(deps, session, made.stored));
}

async function readChangedScopes(
  deps: ConsoleDeps,
  session: SignedIn,
  { keyId, modelId }: StoredLimit,
): Promise<readonly UsedScope[]> {
  const { limitUse, rules } = deps;
  const record = keyId === undefined ? undefined : await rules.findKey(keyId);
  if (record !== undefined) {
    return (await readLimitUse(limitUse, toPrincipal(record), modelId)).scopes;
  }
  const { orgId } = session;
  const [org, limits, endpoints] = await Promise.all([
    requireOrg(deps, session),
    rules.listLimits(orgId),
    rules.listEndpoints(orgId),
  ]);
  const caller = { orgId, funded: org.isFunded, rules: { limits, endpoints } };
  return await readOrgScopes(limitUse, caller, modelId);
}

async function readLimits(deps: OperationDeps, session: Acting): Promise<Limits> {
  const { accounts, rules, records, reports, limitUse } = deps;
  const { orgId } = session;
  const [org, keys, limits, endpoints, month, activity] = await Promise.all([
    requireOrg(deps, session),
    accounts.listOwnKeys(orgId),
    rules.listLimits(orgId),
    rules.listEndpoints(orgId),
    records.monthSpend(orgId),
    reports.keyActivity(orgId),
  ]);
  const active = keys.filter((key) => isActive(key, deps.clock.nowMs()));
  const context = { limits, isFunded: org.isFunded, limitDefaults: limitUse.limitDefaults };
  const rows = rowsOfOrganization(org, active, context);
  const usages = await peekRows(deps, orgId, rows);
  const spent = new Map(activity.map((each) => [each.keyId, each]));
  return {
    rows: [
      ...rows.map((row) => presentLimitRow(row, usages)),
      ...(await Promise.all(endpoints.map((each) => endpointRow(deps, each)))),
    ],
    caps: [
      present(Cap, { ...month, scope: "org", keyId: null, name: org.name }),
      ...active.map(({ keyId, name, caps }) => {
        const of = spent.get(keyId);
        return present(Cap, {
          scope: "key",
          keyId,
          name,
          capMicroUsd: caps.month,
          spentMicroUsd: of?.spentMonthMicroUsd ?? ZERO_MICRO_USD,
          inFlightMicroUsd: of?.inFlightMicroUsd ?? ZERO_MICRO_USD,
        });
      }),
    ],
    cap_reset_at: instant(month.resetAtMs),
    is_funded: org.isFunded,
  };
}

/** Reads each scope's use, by the scope's id; a scope that the limit store left out is missing. */
async function peekRows(
  { limitUse: { limits, clock } }: OperationDeps,
  orgId: OrgId,
  rows: readonly NamedRow[],
): Promise<ReadonlyMap<string, ScopeUsage>> {
  const scopes = rows.flatMap(({ claims }) => claims);
  const found = new Map<string, ScopeUsage>();
  for (let at = 0; at < scopes.length; at += SCOPES_PER_READ) {
    const part = scopes.slice(at, at + SCOPES_PER_READ);
    const asked = { slot: orgSlot(orgId), scopes: part, nowMs: clock.monotonicMs() };
    const usages = await limits.peek(asked);
    part.forEach(({ id }, index) => {
      const usage = usages?.[index];
      if (usage !== undefined) found.set(id, usage);
    });
  }
  return found;
}

const SCOPES_PER_READ = 50;

/** Only the operator can change the limits of a dedicated endpoint, so `own` is always null. */
async function endpointRow(
  { limitUse: { limits, clock } }: OperationDeps,
  endpoint: EndpointRecord,
): Promise<LimitsRow> {
  const scope: ScopeClaim = endpointScope(endpoint);
  const asked = { slot: `{${scope.id}}`, scopes: [scope], nowMs: clock.monotonicMs() };
  const [usage] = (await limits.peek(asked)) ?? [];
  const used = showUsed(usage);
  return {
    scope: "endpoint",
    key_id: null,
    name: endpoint.providerId,
    model: null,
    ...byLimit((word) => {
      const limit = endpoint.limits[LIMIT_NAMES[word]] ?? null;
      const source = limit === null ? null : ("contract" as const);
      return { ceiling: limit, own: null, effective: limit, source, used: used[word] };
    }),
  };
}

interface NamedRow {
  readonly row: LimitRow;
  readonly name: string;
  readonly modelId: string | null;
  /** The scope's own claim; without credit, also one for the lower limit of requests. */
  readonly claims: readonly ScopeClaim[];
}

/** Lists the scopes that a customer can limit: the organization, `keys`, and limited models. */
function rowsOfOrganization(
  org: OrgSummary,
  keys: readonly KeySummary[],
  context: LimitContext,
): readonly NamedRow[] {
  const { limits, limitDefaults } = context;
  const whole = { orgId: org.orgId, funded: context.isFunded, rules: { limits } };
  const listRows = (key: LimitedKey, modelId?: string): readonly LimitRow[] =>
    limitRows(key, modelId, limitDefaults);
  const orgRows = orgLimitRows(whole, undefined, limitDefaults);
  const orgModels = listModels(limits, undefined).flatMap((id) =>
    orgLimitRows(whole, id, limitDefaults)
      .filter(({ scope }) => scope === "model")
      .map((row) => toNamedRow(row, id, id)),
  );
  const ofKeys = keys.map((summary) => ({ summary, key: limitedKey(summary, context) }));
  const keyModels = ofKeys.flatMap(({ summary, key }) =>
    listModels(limits, key.keyId).flatMap((id) =>
      listRows(key, id)
        .filter(({ scope, keyId }) => scope === "model" && keyId === key.keyId)
        .map((row) => toNamedRow(row, summary.name, id)),
    ),
  );
  const keyRows = ofKeys.flatMap(({ summary, key }) =>
    listRows(key)
      .filter(({ scope }) => scope === "key")
      .map((row) => toNamedRow({ ...row, keyId: key.keyId }, summary.name)),
  );
  return [
    ...orgRows.map((row) => toNamedRow(row, org.name)),
    ...keyRows,
    ...orgModels,
    ...keyModels,
  ];
}

function listModels(limits: readonly StoredLimit[], ofKey: KeyId | undefined): readonly string[] {
  const ids = limits.flatMap(({ scope, keyId, modelId }) =>
    scope === "model" && modelId !== undefined && keyId === ofKey ? [modelId] : [],
  );
  return [...new Set(ids)].sort();
}

function toNamedRow(row: LimitRow, name: string, modelId: string | null = null): NamedRow {
  const { scope, id, limits, unfundedRequestsPerMinute: requestsPerMinute } = row;
  const unfunded =
    requestsPerMinute === undefined
      ? []
      : [{ scope, id: unfundedId(row), limits: { requestsPerMinute } }];
  return { row, name, modelId, claims: [{ scope, id, limits }, ...unfunded] };
}

function unfundedId({ id }: Pick<LimitRow, "id">): string {
  return `${id}#unfunded`;
}

function presentLimitRow(
  { row, name, modelId }: NamedRow,
  usages: ReadonlyMap<string, ScopeUsage>,
): LimitsRow {
  const unfunded = row.unfundedRequestsPerMinute;
  const requests = usages.get(unfunded === undefined ? row.id : unfundedId(row))?.requests;
  const used = showUsed(usages.get(row.id), requests);
  const values = byLimit((word) => ({
    ceiling: row.ceilings[LIMIT_NAMES[word]],
    own: row.self[LIMIT_NAMES[word]] ?? null,
    effective: row.limits[LIMIT_NAMES[word]] ?? null,
    source: findSource(row, LIMIT_NAMES[word]),
    used: used[word],
  }));
  return {
    scope: row.scope,
    key_id: row.keyId ?? null,
    name,
    model: modelId,
    ...values,
    ...(unfunded !== undefined && { rpm: { ...values.rpm, effective: unfunded } }),
  };
}

/** A limit that is not set is null. */
export function showLimits(limits: EndpointRecord["limits"]) {
  return byLimit((word) => limits[LIMIT_NAMES[word]] ?? null);
}

function showUsed(usage: ScopeUsage | undefined, requests = usage?.requests) {
  return {
    rpm: requests ?? null,
    tpm: usage?.tokens ?? null,
    concurrency: usage?.inFlight ?? null,
  };
}
