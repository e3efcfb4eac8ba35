import type { KeySummary } from "../accounts/key-store.ts";
import { PLAIN_RULES } from "../accounts/account-rules.ts";
import { principalOf, type Principal } from "../accounts/principal.ts";
import { parseRequestId, type KeyId, type OrgId } from "../core/ids.ts";
import { makeLimitChange, planLimitChange } from "../records/change-limit.ts";
import { readLimitRequest, type LimitRequest } from "../records/limit-request.ts";
import { readLimitUse } from "../records/limit-use.ts";
import { changedLimitBody } from "../records/show-limits.ts";
import type { SignedIn } from "../identity/identity.ts";
import type { StoredLimit } from "../limits/stored-limit.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal, notFound, ofGateway } from "./console-refusal.ts";
import type { AnswerOf } from "./contract.ts";
import type { limitRoutes } from "./contract/limits.ts";
import { explainRefusal } from "./explain-refusal.ts";
import type { Handlers } from "./handler.ts";
import { knownOrg } from "./known-org.ts";
import { readLimits } from "./read-limits.ts";
import { instant, readCap } from "./read-values.ts";
import type { ReportTurns } from "./report-turns.ts";

/** Limits and caps of the organization, and why a request met one. */
export function limitHandlers(
  deps: ConsoleDeps,
  turns: ReportTurns,
): Handlers<keyof typeof limitRoutes> {
  const { customers, reports } = deps;
  return {
    "GET /api/console/limits": ({ session }) =>
      turns.looks.run(session.orgId, () => readLimits(deps, session)),

    "POST /api/admission-limits": ({ session, rawBody }) => changeLimit(deps, session, rawBody),

    "PATCH /api/console/org-cap": async ({ session, body }) => {
      const cap = readCap(body.cap_usd);
      if (cap !== undefined) await customers.setOrgCap(session.orgId, cap);
      return await turns.looks.run(session.orgId, () => readLimits(deps, session));
    },

    "GET /api/console/refusals/:request_id": async ({ session, params }) => {
      const requestId = parseRequestId(params.request_id);
      if (requestId === undefined) return notFound("request");
      const found = await turns.looks.run(session.orgId, () =>
        reports.request(session.orgId, requestId),
      );
      if (found instanceof ConsoleRefusal) return found;
      if (found === undefined) return notFound("request");
      const { createdAtMs, errorClass, outcome } = found.request;
      // What was served may still have a class: of usage that cannot be.
      const isServed = outcome === "completed" || outcome === "client_disconnected";
      if (errorClass === null || isServed) return NOT_REFUSED;
      return {
        request_id: requestId,
        at: instant(createdAtMs),
        error_class: errorClass,
        explanation: explainRefusal(errorClass),
      };
    },
  };
}

const NOT_REFUSED = new ConsoleRefusal({
  status: 404,
  code: "not_found",
  message: "this request was not refused; its page shows its result",
});

const NO_SUCH_KEY = notFound("key");

/**
 * The gateway's own route with a session for a key: the same reader, the same checks, the same
 * answer. A managed key is a key that does not exist.
 */
async function changeLimit(
  deps: ConsoleDeps,
  session: SignedIn,
  rawBody: Buffer,
): Promise<AnswerOf<"POST /api/admission-limits"> | ConsoleRefusal> {
  const { limitUse, rules } = deps;
  const request = readLimitRequest(rawBody);
  if ("class" in request) return ofGateway(request);
  const key = await namedKey(deps, session.orgId, request);
  if (key instanceof ConsoleRefusal) return key;
  const actor = { orgId: session.orgId, session: true } as const;
  const planned = await planLimitChange(
    { catalog: limitUse.catalog, rules, limitDefaults: limitUse.limitDefaults },
    actor,
    request,
  );
  if ("class" in planned) return ofGateway(planned);
  const stored = await makeLimitChange(rules, planned);
  if ("class" in stored) return ofGateway(stored);
  return JSON.parse(
    await changedBody(deps, session, stored),
  ) as AnswerOf<"POST /api/admission-limits">;
}

async function namedKey(
  { customers }: ConsoleDeps,
  orgId: OrgId,
  { keyId }: LimitRequest,
): Promise<KeySummary | undefined | ConsoleRefusal> {
  if (keyId === undefined) return undefined;
  return (await customers.findKey(orgId, keyId)) ?? NO_SUCH_KEY;
}

async function changedBody(
  deps: ConsoleDeps,
  session: SignedIn,
  stored: StoredLimit,
): Promise<string> {
  const record = stored.keyId === undefined ? undefined : await deps.rules.findKey(stored.keyId);
  if (record !== undefined) {
    return changedLimitBody(
      stored,
      await readLimitUse(deps.limitUse, principalOf(record), stored.modelId),
    );
  }
  const nobody = await keylessPrincipal(deps, session);
  const use = await readLimitUse(deps.limitUse, nobody, stored.modelId);
  // Of the whole organization: no key's own limit is in what comes of it.
  const scopes = use.scopes.filter(({ claim }) => claim.scope !== "key");
  return changedLimitBody(stored, { ...use, scopes });
}

/** The organization as a caller without a key. */
async function keylessPrincipal(deps: ConsoleDeps, session: SignedIn): Promise<Principal> {
  const { orgId } = session;
  const [org, limits, endpoints] = await Promise.all([
    knownOrg(deps, session),
    deps.rules.listLimits(orgId),
    deps.rules.listEndpoints(orgId),
  ]);
  return {
    orgId,
    keyId: "" as KeyId,
    keyOrigin: "console",
    requestsPerMinuteCeiling: deps.limitUse.limitDefaults.orgRequestsPerMinute,
    funded: org.isFunded,
    managed: false,
    rules: { ...PLAIN_RULES, limits, endpoints },
  };
}
