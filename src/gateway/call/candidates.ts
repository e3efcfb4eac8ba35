import type { Principal } from "../accounts/principal.ts";
import type { Deployment } from "../../catalog/index.ts";
import { refusal, type Refusal, refused, type Result } from "../../kernel/index.ts";
import { allCooling, type RoutePlan } from "../routing/plan-route.ts";
import type { UpstreamRequest } from "../../formats/index.ts";
import { type ClaimedScopes, claimScopes, type MarketplaceClaim } from "./claim.ts";
import { sizeRefusal } from "./limit-refusals.ts";
import type { CallTokens, Step } from "./call-kind.ts";
import type { CallPorts } from "./ports.ts";
import { secondsThrottled } from "../limits/limit-store.ts";

export type CandidatePorts = Pick<CallPorts, "health" | "pools" | "limits" | "clock">;

/**
 * A deployment whose circuit and pool admitted the request. Report the attempt's outcome to the
 * circuit or, if nothing is sent, call `leaveCircuit`.
 */
export interface Candidate {
  readonly step: Step;
  /** Claims in the provider's pool and of `MarketplaceClaim`; undefined if neither was needed. */
  readonly pool: ClaimedScopes | undefined;
  /** Monotonic time at which the circuit admitted the request; reported with the outcome. */
  readonly probedMs: number;
}

type Encode = (deployment: Deployment) => Result<{ readonly upstream: UpstreamRequest }>;

/** A plan's untried deployments. Encodes the request for later ones only when they are tried. */
export class CandidateList {
  /** The encoding's refusal for the first deployment that was skipped; undefined if none was. */
  unencoded: Refusal | undefined;
  readonly #plan: RoutePlan;
  readonly #encode: Encode;
  /** The first deployment that can be tried; undefined once it was taken, or if there is none. */
  #first: Step | undefined;
  /** The deployments after the first, looked up on first use, because most calls need none. */
  #others: Iterator<Deployment> | undefined;

  constructor(plan: RoutePlan, encode: Encode) {
    this.#plan = plan;
    this.#encode = encode;
    this.#first = this.#encodeFor(plan.first) ?? this.#nextOther();
  }

  /** False if no deployment's format can express the content (see `unencoded`), or after `next`. */
  get hasFirst(): boolean {
    return this.#first !== undefined;
  }

  /** Deployments that are not tried for their health, though they can serve the request. */
  get cooling(): readonly Deployment[] {
    return this.#plan.cooling();
  }

  next(): Step | undefined {
    const first = this.#first;
    this.#first = undefined;
    return first ?? this.#nextOther();
  }

  #nextOther(): Step | undefined {
    this.#others ??= this.#plan.others();
    for (;;) {
      const found = this.#others.next();
      if (found.done === true) return undefined;
      const step = this.#encodeFor(found.value);
      if (step !== undefined) return step;
    }
  }

  #encodeFor(deployment: Deployment): Step | undefined {
    const encoded = this.#encode(deployment);
    if (encoded.ok) return { deployment, upstream: encoded.upstream };
    this.unencoded ??= encoded.refusal;
    return undefined;
  }
}

export interface WantedCandidate {
  readonly candidates: CandidateList;
  readonly tokens: CallTokens;
  /** Undefined if no candidate needs a claim besides the claim in its pool. */
  readonly marketplace: MarketplaceClaim | undefined;
}

/**
 * Returns the next candidate whose circuit and pool admit the request. If there is none, returns
 * the refusal of the full pool with the shortest wait, else that of open circuits, else that of the
 * encoding. If the limit store does not answer, refuses at once.
 */
export async function acquireCandidate(
  ports: CandidatePorts,
  principal: Principal,
  call: WantedCandidate,
): Promise<Result<{ readonly candidate: Candidate }>> {
  const { candidates } = call;
  let full: Refusal | undefined;
  const cooling: Deployment[] = [];
  for (let step = candidates.next(); step !== undefined; step = candidates.next()) {
    const { deployment } = step;
    const probedMs = ports.clock.monotonicMs();
    if (!ports.health.startProbe(deployment.id, probedMs)) {
      cooling.push(deployment);
      continue;
    }
    const entered = await enterPool(ports, principal, { ...call, deployment });
    if (entered.ok) return { ok: true, candidate: { step, pool: entered.pool, probedMs } };
    leaveCircuit(ports, { step, probedMs });
    // The limit store did not answer, so the next candidate's claim would fail too.
    if (entered.refusal.class !== "rate_limit") return entered;
    full = sooner(full, entered.refusal);
  }
  return refused(findRefusal(ports, principal, call, { full, cooling }));
}

interface Untried {
  readonly full: Refusal | undefined;
  readonly cooling: readonly Deployment[];
}

/** If the request is too large for the full pools, looks for a deployment that only cools down. */
function findRefusal(
  ports: CandidatePorts,
  principal: Principal,
  { candidates, tokens }: WantedCandidate,
  { full, cooling }: Untried,
): Refusal {
  const [first] = cooling;
  const rest = first === undefined ? candidates.unencoded : allCooling(first.modelId);
  if (full?.retryable !== false) return full ?? rest ?? nothingEncodes();
  const monotonicMs = ports.clock.monotonicMs();
  const later = [...cooling, ...candidates.cooling].find(({ pool }) => {
    const part = ports.pools.buildClaim(pool, principal.orgId, monotonicMs);
    return part === undefined || sizeRefusal([part], tokens) === undefined;
  });
  return later === undefined ? full : allCooling(later.modelId, " that this request fits");
}

export function leaveCircuit(
  { health, clock }: Pick<CallPorts, "health" | "clock">,
  { step, probedMs }: Pick<Candidate, "step" | "probedMs">,
): void {
  health.report(step.deployment.id, "aborted", clock.monotonicMs(), probedMs);
}

type EnteredPool = Result<{ readonly pool: ClaimedScopes | undefined }>;

export function enterPool(
  ports: CandidatePorts,
  principal: Principal,
  asked: Omit<WantedCandidate, "candidates"> & { readonly deployment: Deployment },
): EnteredPool | Promise<EnteredPool> {
  const { deployment, tokens, marketplace } = asked;
  const { pool, ownKey } = deployment;
  const fallback = ownKey === undefined && marketplace?.isMade === false ? marketplace : undefined;
  const monotonicMs = ports.clock.monotonicMs();
  const part = ports.pools.buildClaim(pool, principal.orgId, monotonicMs);
  const parts = [...(fallback ? [fallback.part] : []), ...(part ? [part] : [])];
  const cooldownMs = ports.pools.cooldownMs(pool.id, monotonicMs);
  if (cooldownMs > 0) {
    const throttledMs = part === undefined ? 0 : secondsThrottled(part.scopes, tokens) * 1000;
    const waitMs = Math.max(cooldownMs, throttledMs);
    const nowMs = ports.clock.nowMs();
    return refused(sizeRefusal(parts, tokens) ?? poolCooldowns(pool.id, waitMs, nowMs));
  }
  if (parts.length === 0) return { ok: true, pool: undefined };
  const claiming = claimScopes(ports, { principal, parts, tokens });
  return claiming.then((outcome) => {
    if (!outcome.ok) return outcome;
    if (fallback !== undefined) fallback.isMade = true;
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

/** Returns the refusal with the shorter wait. One that is not retryable has an endless wait. */
function sooner(known: Refusal | undefined, other: Refusal): Refusal {
  const waitSeconds = ({ retryable, retryAfterSeconds }: Refusal): number =>
    retryable ? (retryAfterSeconds ?? 0) : Infinity;
  return known === undefined || waitSeconds(other) < waitSeconds(known) ? other : known;
}

function nothingEncodes(): Refusal {
  return refusal("gateway_error", "no candidate could be encoded; report it with the request id");
}
