import type { Principal } from "../accounts/principal.ts";
import type { Deployment } from "../../catalog/index.ts";
import { refusal, type Refusal, refused, type Result } from "../../kernel/index.ts";
import { secondsThrottled } from "../limits/never-fits.ts";
import { allCooling, type RoutePlan } from "../routing/plan-route.ts";
import type { UpstreamRequest } from "../../formats/index.ts";
import { type ClaimedScopes, claimScopes, type MarketplaceClaim } from "./claim.ts";
import { sizeRefusal } from "./limit-refusals.ts";
import type { CallTokens, Step } from "./call-kind.ts";
import type { CallPorts } from "./ports.ts";

export type CandidatePorts = Pick<CallPorts, "health" | "pools" | "limits" | "clock">;

/** A deployment that may be dispatched to now. How that ended must be reported to its circuit. */
export interface Candidate {
  readonly step: Step;
  /** Its slot in the provider's pool, and what else it was admitted by; often nothing. */
  readonly pool: ClaimedScopes | undefined;
  /** Monotonic time at which its circuit let it through; reported with the end. */
  readonly probedMs: number;
}

type Encode = (deployment: Deployment) => Result<{ readonly upstream: UpstreamRequest }>;

/** The deployments of a plan that are still to be tried, each encoded when it is reached. */
export class CandidateList {
  /** Why the first deployment that could not be encoded was skipped. */
  unencoded: Refusal | undefined;
  readonly #plan: RoutePlan;
  readonly #encode: Encode;
  #isAtFirst = true;
  /** Made when the first has failed, which few do. */
  #others: Iterator<Deployment> | undefined;
  #ready: Step | undefined;

  constructor(plan: RoutePlan, encode: Encode) {
    this.#plan = plan;
    this.#encode = encode;
  }

  /** True if another candidate can be tried; finding out encodes it. */
  hasNext(): boolean {
    this.#ready ??= this.#encoded();
    return this.#ready !== undefined;
  }

  /**
   * The next candidate; undefined if there is none left. Candidates whose format cannot express the
   * content are skipped.
   */
  next(): Step | undefined {
    const step = this.#ready ?? this.#encoded();
    this.#ready = undefined;
    return step;
  }

  #encoded(): Step | undefined {
    for (;;) {
      const deployment = this.#nextDeployment();
      if (deployment === undefined) return undefined;
      const encoded = this.#encode(deployment);
      if (encoded.ok) return { deployment, upstream: encoded.upstream };
      this.unencoded ??= encoded.refusal;
    }
  }

  #nextDeployment(): Deployment | undefined {
    if (this.#isAtFirst) {
      this.#isAtFirst = false;
      return this.#plan.first;
    }
    this.#others ??= this.#plan.others();
    const found = this.#others.next();
    return found.done === true ? undefined : found.value;
  }
}

/** A party that takes a slot of a pool. */
export interface PoolClaim {
  readonly tokens: CallTokens;
  /** The further claim, once a key of the marketplace is to serve. */
  readonly marketplace: MarketplaceClaim | undefined;
}

/** The facts of a call that decide which candidate it gets. */
export interface WantedCandidate extends PoolClaim {
  readonly candidates: CandidateList;
}

/**
 * The next candidate whose circuit lets this request through and whose pool has capacity for it.
 * Without one the refusal is that of the pool that has capacity first; when no pool was the reason,
 * that of the circuits.
 */
export async function acquireCandidate(
  ports: CandidatePorts,
  principal: Principal,
  call: WantedCandidate,
): Promise<Result<{ readonly candidate: Candidate }>> {
  const { candidates } = call;
  let full: Refusal | undefined;
  let cooling: Refusal | undefined;
  for (let step = candidates.next(); step !== undefined; step = candidates.next()) {
    const { deployment } = step;
    const probedMs = ports.clock.monotonicMs();
    if (!ports.health.startProbe(deployment.id, probedMs)) {
      cooling = allCooling(deployment.modelId);
      continue;
    }
    const entered = await enterPool(ports, principal, { ...call, deployment });
    if (entered.ok) return { ok: true, candidate: { step, pool: entered.pool, probedMs } };
    leaveCircuit(ports, { step, probedMs });
    // A limit store that does not respond is no verdict on the pool: return its own refusal.
    if (entered.refusal.class !== "rate_limit") return entered;
    full = sooner(full, entered.refusal);
  }
  return refused(full ?? cooling ?? candidates.unencoded ?? nothingEncodes());
}

/** Releases the circuit and the pool of a candidate that was never dispatched to. */
export function releaseCandidate(ports: CandidatePorts, candidate: Candidate): void {
  leaveCircuit(ports, candidate);
  candidate.pool?.undo(ports.clock.monotonicMs());
}

/** Releases the probe of a circuit whose candidate was never dispatched to. */
export function leaveCircuit(
  { health, clock }: Pick<CallPorts, "health" | "clock">,
  { step, probedMs }: Pick<Candidate, "step" | "probedMs">,
): void {
  health.report(step.deployment.id, "aborted", clock.monotonicMs(), probedMs);
}

type EnteredPool = Result<{ readonly pool: ClaimedScopes | undefined }>;

/** Takes a place in the pool of a deployment, or returns the refusal of what limits it. */
export function enterPool(
  ports: CandidatePorts,
  principal: Principal,
  { deployment, tokens, marketplace }: PoolClaim & { readonly deployment: Deployment },
): EnteredPool | Promise<EnteredPool> {
  const { pool } = deployment;
  const monotonicMs = ports.clock.monotonicMs();
  const nowMs = ports.clock.nowMs();
  const part = ports.pools.buildClaim(pool, principal.orgId, monotonicMs);
  const parts = [...(marketplace?.partsFor(deployment) ?? []), ...(part ? [part] : [])];
  const cooldownMs = ports.pools.cooldownMs(pool.id, monotonicMs);
  if (cooldownMs > 0) {
    const throttledMs = part === undefined ? 0 : secondsThrottled(part.scopes, tokens) * 1000;
    const waitMs = Math.max(cooldownMs, throttledMs);
    return refused(sizeRefusal(parts, tokens) ?? poolCooldowns(pool.id, waitMs, nowMs));
  }
  if (parts.length === 0) return { ok: true, pool: undefined };
  const claiming = claimScopes(ports.limits, { principal, parts, tokens, nowMs, monotonicMs });
  return claiming.then((outcome) => {
    if (!outcome.ok) return outcome;
    marketplace?.admitted(deployment);
    return { ok: true, pool: outcome.claimed };
  });
}

function poolCooldowns(poolId: string, waitMs: number, nowMs: number): Refusal {
  const retryAfterSeconds = Math.ceil(waitMs / 1000);
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

/**
 * Chooses the refusal of the pool that has capacity first. A pool that is too small for the request
 * never has.
 */
function sooner(known: Refusal | undefined, other: Refusal): Refusal {
  const waitSeconds = ({ retryable, retryAfterSeconds }: Refusal): number =>
    retryable ? (retryAfterSeconds ?? 0) : Infinity;
  return known === undefined || waitSeconds(other) < waitSeconds(known) ? other : known;
}

function nothingEncodes(): Refusal {
  return refusal("gateway_error", "no candidate could be encoded; report it with the request id");
}
