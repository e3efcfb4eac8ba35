import { claimScopes } from "./admit.ts";
import type { ClaimedScopes } from "./claimed-scopes.ts";
import type { Principal } from "../accounts/principal.ts";
import type { Deployment } from "../catalog/catalog.ts";
import { retryAfterSecondsMax } from "../core/constants.ts";
import { refusal, type Refusal } from "../core/refusals.ts";
import type { TokenCount } from "../limits/limit-store.ts";
import { allCooling } from "../routing/plan-route.ts";
import type { Step } from "./call-kind.ts";
import type { CallSteps } from "./call-steps.ts";
import type { MarketplaceClaim } from "./marketplace-claim.ts";
import type { ServeDeps } from "./serve-deps.ts";

export type RoomDeps = Pick<ServeDeps, "health" | "pools" | "limits" | "clock">;

export interface RoomInput {
  readonly principal: Principal;
  readonly tokens: TokenCount;
  readonly steps: CallSteps;
  readonly marketplace: MarketplaceClaim | undefined;
}

/** A candidate that may be dispatched to now. Its circuit waits to be told how that ended. */
export interface Room {
  readonly kind: "room";
  readonly step: Step;
  /** Its place in the provider's pool, and what it was admitted by besides; often nothing. */
  readonly pool: ClaimedScopes | undefined;
  /** Monotonic time at which its circuit let it through: goes along when the end is reported. */
  readonly probedMs: number;
}

export type RoomOutcome = Room | { readonly kind: "full"; readonly refusal: Refusal };

/**
 * The next candidate whose circuit lets this request through and whose pool has a place for it.
 * Without one the caller hears of the pool that has room first; when no pool was the reason, of the
 * circuits.
 */
export async function findRoom(deps: RoomDeps, input: RoomInput): Promise<RoomOutcome> {
  let full: Refusal | undefined;
  let cooling: Refusal | undefined;
  for (let step = input.steps.next(); step !== undefined; step = input.steps.next()) {
    const { deployment } = step;
    const probedMs = deps.clock.monotonicMs();
    if (!deps.health.startProbe(deployment.id, probedMs)) {
      cooling = allCooling(deployment.modelId);
      continue;
    }
    const entered = await enterPool(deps, input, deployment);
    if (entered.kind === "entered") {
      return { kind: "room", step, pool: entered.pool, probedMs };
    }
    leaveCircuit(deps, { step, probedMs });
    // A limit store that does not answer says nothing about the pools: it refuses for itself.
    if (entered.refusal.class !== "rate_limit") return { kind: "full", refusal: entered.refusal };
    full = sooner(full, entered.refusal);
  }
  return { kind: "full", refusal: full ?? cooling ?? input.steps.unencoded ?? nothingEncodes() };
}

/** Nothing was sent to it after all: the circuit's place is free again. */
export function leaveCircuit(
  { health, clock }: Pick<ServeDeps, "health" | "clock">,
  { step, probedMs }: Pick<Room, "step" | "probedMs">,
): void {
  health.report(step.deployment.id, "aborted", clock.monotonicMs(), probedMs);
}

export type PoolEntry =
  | { readonly kind: "entered"; readonly pool: ClaimedScopes | undefined }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Takes a place in the pool of a deployment, or returns the refusal of what limits it. */
export async function enterPool(
  deps: RoomDeps,
  { principal, tokens, marketplace }: Omit<RoomInput, "steps">,
  deployment: Deployment,
): Promise<PoolEntry> {
  const { pool } = deployment;
  const monotonicMs = deps.clock.monotonicMs();
  const nowMs = deps.clock.nowMs();
  const restMs = deps.pools.restMs(pool.id, monotonicMs);
  if (restMs > 0) return { kind: "refused", refusal: poolRests(pool.id, restMs, nowMs) };
  const part = deps.pools.claimOf(pool, principal.orgId, monotonicMs);
  const parts = [...(marketplace?.partsFor(deployment) ?? []), ...(part ? [part] : [])];
  if (parts.length === 0) return { kind: "entered", pool: undefined };
  const outcome = await claimScopes(deps.limits, { principal, parts, tokens, nowMs, monotonicMs });
  if (outcome.kind !== "claimed") return outcome;
  marketplace?.admitted(deployment);
  return { kind: "entered", pool: outcome.claimed };
}

function poolRests(poolId: string, restMs: number, nowMs: number): Refusal {
  const retryAfterSeconds = Math.min(retryAfterSecondsMax, Math.ceil(restMs / 1000));
  return refusal(
    "rate_limit",
    `the provider has rate-limited this model and its capacity is paused; retry in ${retryAfterSeconds} s, or choose another model meanwhile`,
    {
      origin: "upstream_quota",
      limit: { scope: "pool", kind: "capacity", id: `pool:${poolId}` },
      retryAfterSeconds,
      retryAtMs: nowMs + retryAfterSeconds * 1000,
    },
  );
}

function sooner(known: Refusal | undefined, other: Refusal): Refusal {
  const waitOf = (each: Refusal): number => each.retryAfterSeconds ?? retryAfterSecondsMax;
  return known === undefined || waitOf(other) < waitOf(known) ? other : known;
}

function nothingEncodes(): Refusal {
  return refusal("gateway_error", "no candidate could be encoded; report it with the request id");
}
