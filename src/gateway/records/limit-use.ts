import { type Organization, type Principal, toPrincipal } from "../accounts/principal.ts";
import type { RulesStore } from "../accounts/postgres-rules-store.ts";
import type { CallPorts } from "../call/ports.ts";
import { type ClaimPart, claimParts, toClaimPart } from "../call/claim.ts";
import { findModel } from "../call/plan.ts";
import {
  endpointScope,
  endpointSelfRows,
  limitRows,
  orgScopes,
} from "../limits/effective-limits.ts";
import { orgSlot, type ScopeClaim, type ScopeUsage } from "../limits/limit-store.ts";
import type { RecordStore } from "./postgres-record-store.ts";

export interface LimitDeps extends CallPorts {
  readonly records: RecordStore;
  readonly rules: RulesStore;
}

export type LimitUseDeps = Pick<
  LimitDeps,
  "catalog" | "clock" | "limits" | "limitDefaults" | "rules" | "scopesOf"
>;

/** A limit scope and its use; `usage` is undefined if the limit store did not answer. */
export interface UsedScope {
  readonly claim: ScopeClaim;
  readonly usage: ScopeUsage | undefined;
  /** True if the scope counts only calls whose client has left and whose answer is still read. */
  readonly isDeparted: boolean;
}

export type LimitUse = Awaited<ReturnType<typeof readLimitUse>>;

/** Reads the caller's rules, never from a cache, and the use of each of its scopes. */
export async function readLimitUse(
  deps: LimitUseDeps,
  caller: Principal,
  modelId: string | undefined,
) {
  const record = await deps.rules.findKey(caller.keyId);
  const principal = record === undefined ? caller : toPrincipal(record);
  const { model, endpoint } =
    modelId === undefined ? NO_MODEL : findModel(deps.catalog.current, principal, modelId);
  const rowsOf = endpoint === undefined ? limitRows : endpointSelfRows;
  // The platform's scopes belong to no organization, so they are left out.
  const own = { scopesOf: deps.scopesOf, platform: [] };
  const parts =
    modelId === undefined
      ? [toClaimPart(orgSlot(principal.orgId), deps.scopesOf(principal), modelId)]
      : claimParts(own, principal, { modelId, endpoint, ownKeys: "none" });
  return {
    /** True if the caller may use the model, or if no model was named. */
    isServed: modelId === undefined || model !== undefined,
    endpoint,
    rows: rowsOf(principal, modelId, deps.limitDefaults),
    /** Each slot's scopes in the limit store: narrowest first, those of departed calls last. */
    scopes: await peekAll(deps, parts),
  };
}

const NO_MODEL = { model: undefined, endpoint: undefined };

export async function readOrgScopes(
  deps: LimitUseDeps,
  org: Organization,
  modelId: string | undefined,
): Promise<readonly UsedScope[]> {
  const { endpoint } =
    modelId === undefined ? NO_MODEL : findModel(deps.catalog.current, org, modelId);
  const asked = { modelId, isOfEndpoint: endpoint !== undefined };
  const own = orgScopes(org, asked, deps.limitDefaults);
  const parts: ClaimPart[] =
    own.length === 0 ? [] : [toClaimPart(orgSlot(org.orgId), own, modelId)];
  if (endpoint !== undefined) {
    const scope = endpointScope(endpoint);
    parts.push(toClaimPart(`{${scope.id}}`, [scope], modelId));
  }
  return await peekAll(deps, parts);
}

async function peekAll(
  deps: LimitUseDeps,
  parts: readonly ClaimPart[],
): Promise<readonly UsedScope[]> {
  const used = parts.map(async ({ slot, scopes: own, departed = [] }) => {
    const scopes = [...own, ...departed];
    const usages = await deps.limits.peek({ slot, scopes, nowMs: deps.clock.monotonicMs() });
    return scopes.map((claim, at) => {
      return { claim, usage: usages?.[at], isDeparted: at >= own.length };
    });
  });
  return (await Promise.all(used)).flat();
}
