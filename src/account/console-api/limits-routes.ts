import {
  type KeySummary,
  toOrganization,
  toPrincipal,
  type StoredLimit,
  presentChangedLimit,
  type LimitRequest,
  makeLimitChange,
  planLimitChange,
  readLimitRequest,
  readLimitUse,
  readOrgScopes,
  type UsedScope,
} from "../../gateway/index.ts";
import { type ChangedBy, instant, type OrgId, parseRequestId } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity.ts";
import { askAboutCap } from "./ask-about-cap.ts";
import type { ConsoleDeps, OperationDeps } from "./console-deps.ts";
import { ConsoleRefusal, notFound, ofGateway } from "./console-refusal.ts";
import type { AnswerOf } from "./contract.ts";
import type { limitRoutes } from "./contract/limits.ts";
import { presentRefusal } from "./present-refusal.ts";
import type { Handlers } from "./handler.ts";
import { requireOrg } from "./known-org.ts";
import { readLimits } from "./read-limits.ts";
import { readCap } from "./read-values.ts";

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
  const { reports } = deps;
  return {
    ...capHandlers(deps),

    "POST /api/admission-limits": ({ session, rawBody, by }) =>
      changeLimit(deps, session, { rawBody, by }),

    "GET /api/console/refusals/:request_id": async ({ session, params }) => {
      const requestId = parseRequestId(params.request_id);
      if (requestId === undefined) return notFound("request");
      const found = await reports.request(session.orgId, requestId);
      if (found === undefined) return notFound("request");
      const { createdAtMs, errorClass, status } = found.request;
      // A request that succeeded or was cancelled can have an error class too, for impossible
      // usage.
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

const NOT_REFUSED = new ConsoleRefusal(
  404,
  "not_found",
  "this request was not rejected; its page shows the result",
);

const NO_SUCH_KEY = notFound("key");

/**
 * Changes a limit as the gateway's own route for limits does, with the same parser, checks and
 * answer, but with a session instead of a key. A managed key counts as unknown.
 */
async function changeLimit(
  deps: ConsoleDeps,
  session: SignedIn,
  { rawBody, by }: { readonly rawBody: Buffer; readonly by: ChangedBy },
): Promise<AnswerOf<"POST /api/admission-limits"> | ConsoleRefusal> {
  const { limitUse, rules } = deps;
  const read = readLimitRequest(rawBody);
  if (!read.ok) return ofGateway(read.refusal);
  const { request } = read;
  const key = await findNamedKey(deps, session.orgId, request);
  if (key instanceof ConsoleRefusal) return key;
  const actor = { kind: "person", orgId: session.orgId } as const;
  const planned = await planLimitChange(
    { catalog: limitUse.catalog, rules, limitDefaults: limitUse.limitDefaults },
    actor,
    request,
  );
  if (!planned.ok) return ofGateway(planned.refusal);
  const made = await makeLimitChange(rules, planned, by);
  if (!made.ok) return ofGateway(made.refusal);
  return presentChangedLimit(made.stored, await readChangedScopes(deps, session, made.stored));
}

async function findNamedKey(
  { accounts }: ConsoleDeps,
  orgId: OrgId,
  { keyId }: LimitRequest,
): Promise<KeySummary | undefined | ConsoleRefusal> {
  if (keyId === undefined) return undefined;
  // PostgreSQL rejects U+0000 in any text, so such an id is unknown.
  const found = keyId.includes("\0") ? undefined : await accounts.findKey(orgId, keyId);
  return found ?? NO_SUCH_KEY;
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
  return await readOrgScopes(limitUse, toOrganization(org, { limits, endpoints }), modelId);
}
