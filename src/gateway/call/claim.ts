import {
  type Clock,
  type Deadline,
  type Deadlines,
  memoizeByObject,
  type OrgId,
  refused,
  type Result,
  RETRY_AFTER_SECONDS_MAX,
} from "../../kernel/index.ts";
import type { DedicatedEndpoint } from "../accounts/account-rules.ts";
import type { Principal } from "../accounts/principal.ts";
import { endpointScope, endpointSelfScopes } from "../limits/effective-limits.ts";
import {
  type LimitLease,
  type LimitStore,
  orgSlot,
  type ScopeClaim,
  type TokenCount,
  secondsThrottled,
  departedScopes,
} from "../limits/limit-store.ts";
import type { OwnKeys } from "../routing/plan-route.ts";
import type { CallTokens } from "./call-kind.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { DetachedReadLimit } from "./detached-read-limit.ts";
import { claimRefusal, type RefusedClaim, sizeRefusal } from "./limit-refusals.ts";
import type { CallPorts } from "./ports.ts";
import { CLIENT_HAS_LEFT, routingDeadlinePassed, SHUTTING_DOWN } from "./refuse.ts";

export interface LimitedCall {
  readonly modelId: string;
  readonly endpoint: DedicatedEndpoint | undefined;
  readonly ownKeys: OwnKeys;
}

/** Claims the limits of a call, all or none, before a candidate is chosen. */
export function claimLimits(
  ports: ClaimPorts & Pick<CallPorts, "drains" | "scopesOf" | "platform">,
  principal: Principal,
  { limited, tokens }: { readonly limited: LimitedCall; readonly tokens: CallTokens },
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  return claimScopes(ports, { principal, parts: claimParts(ports, principal, limited), tokens });
}

/** Lists the caller's limits, then the platform's. A dedicated endpoint has no default limits. */
export function claimParts(
  ports: Pick<CallPorts, "scopesOf" | "platform">,
  principal: Principal,
  call: LimitedCall,
): readonly ClaimPart[] {
  const { endpoint, modelId, ownKeys } = call;
  const ownKeysOnly = ownKeys !== "none";
  const parts: ClaimPart[] = [];
  const slot = orgSlot(principal.orgId);
  if (endpoint === undefined) {
    parts.push(toClaimPart(slot, ports.scopesOf(principal, { modelId, ownKeysOnly }), modelId));
  } else {
    const scopes = endpointSelfScopes(principal, modelId);
    if (scopes.length > 0) parts.push(toClaimPart(slot, scopes, modelId));
    const ofEndpoint = `{endpoint:${endpoint.endpointId}}`;
    parts.push(toClaimPart(ofEndpoint, scopesOfEndpoint(endpoint), modelId));
  }
  if (ports.platform.length > 0) parts.push({ slot: "{platform}", scopes: ports.platform });
  return parts;
}

/** Adds the scopes in which the request counts as in flight after its client has left, if any. */
export function toClaimPart(
  slot: string,
  scopes: readonly ScopeClaim[],
  modelId: string | undefined,
): ClaimPart {
  const departed = departedScopes(scopes, modelId);
  return departed.length === 0 ? { slot, scopes } : { slot, scopes, departed };
}

/** Memoized, because the Redis store caches by the identity of an array of scopes. */
const scopesOfEndpoint = memoizeByObject((endpoint: DedicatedEndpoint) => [
  endpointScope(endpoint),
]);

export interface ClaimPart {
  readonly slot: string;
  /** Narrowest scope first, because the refusal names the first scope that refuses. */
  readonly scopes: readonly ScopeClaim[];
  readonly departed?: readonly ScopeClaim[];
}

export interface ClaimPorts extends Pick<CallPorts, "limits" | "clock"> {
  /** Tells when the answers of departed clients will have been read. */
  readonly drains?: Pick<DetachedReadLimit, "endsAtMs">;
}

export interface ClaimInput {
  readonly principal: { readonly orgId: OrgId };
  /** Claimed in this order; the first part that refuses determines the refusal. */
  readonly parts: readonly ClaimPart[];
  readonly tokens: CallTokens;
}

/**
 * Claims the limits of all parts of a request, or none. Runs before money is held, because limits
 * are cheaper to check than the database. A request that is larger than a limit gets the refusal
 * for its size even if another limit is full now.
 */
export async function claimScopes(
  ports: ClaimPorts,
  { principal: { orgId }, parts, tokens }: ClaimInput,
): Promise<Result<{ readonly claimed: ClaimedScopes }>> {
  const tooLarge = sizeRefusal(parts, tokens);
  if (tooLarge !== undefined) return refused(tooLarge);
  const claimed = new ClaimedScopes(ports);
  // Windows use monotonic time, because a step of the wall clock must not empty them.
  const nowMs = ports.clock.monotonicMs();
  for (const { slot, scopes, departed } of parts) {
    const answer = ports.limits.claim({ orgId, slot, scopes, departed, ...tokens, nowMs });
    // A store in memory answers synchronously; `await` would still defer the rest to a microtask.
    const outcome = answer instanceof Promise ? await answer : answer;
    if (outcome.kind === "claimed") {
      claimed.add(outcome.lease, departed);
      continue;
    }
    claimed.undo();
    const waited = withThrottle(timed(ports, outcome, orgId), scopes, tokens);
    return refused(claimRefusal(waited, ports.clock.nowMs()));
  }
  return { ok: true, claimed };
}

/** If calls of departed clients fill the limit, sets the wait until enough of them have ended. */
function timed({ drains, clock }: ClaimPorts, outcome: RefusedClaim, orgId: OrgId): RefusedClaim {
  if (outcome.kind !== "refused" || outcome.isDeparted !== true) return outcome;
  const { id, limit, used = limit } = outcome;
  // If other processes read some of these answers, their ends are unknown: use the longest wait.
  const endsAtMs = drains?.endsAtMs(orgId, id, used - limit + 1) ?? Infinity;
  const seconds = Math.ceil((endsAtMs - clock.monotonicMs()) / 1000);
  const retryAfterSeconds = Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, seconds));
  return { ...outcome, retryAfterSeconds };
}

/**
 * A provider's 429 can lower limits so far that the request does not fit even if they are unused.
 * Then sets the wait until the full limits apply again, or the refusing limit's own wait if that
 * limit was in use and its wait is longer.
 */
function withThrottle(
  outcome: RefusedClaim,
  scopes: readonly ScopeClaim[],
  tokens: TokenCount,
): RefusedClaim {
  const seconds = secondsThrottled(scopes, tokens);
  if (outcome.kind !== "refused" || seconds === 0) return outcome;
  const inWindow = outcome.used === 0 ? 0 : outcome.retryAfterSeconds;
  return { ...outcome, retryAfterSeconds: Math.max(seconds, inWindow) };
}

interface ClaimedIn extends Pick<CallPorts, "clock"> {
  readonly limits: Pick<LimitStore, "depart" | "release" | "undo">;
}

/** The claims that one request made together, one lease per part. They also end together, once. */
export class ClaimedScopes {
  readonly #ports: ClaimedIn;
  /** Grown with `concat`, which allocates the exact length: most requests hold one lease. */
  #leases: readonly LimitLease[] = NO_LEASES;
  /** For each lease, the scopes to which it moves when the client leaves; undefined if it stays. */
  #departed: readonly (readonly ScopeClaim[] | undefined)[] = NO_SCOPES;
  /** The fewest requests that any scope still allows; MAX_SAFE_INTEGER if none limits them. */
  remainingRequests: number = Number.MAX_SAFE_INTEGER;
  remainingTokens: number = Number.MAX_SAFE_INTEGER;
  /** The pacing delay in milliseconds. */
  queueMs = 0;

  constructor(ports: ClaimedIn) {
    this.#ports = ports;
  }

  add(lease: LimitLease, departed: readonly ScopeClaim[] | undefined): void {
    this.#leases = this.#leases.concat(lease);
    this.#departed = this.#departed.concat([departed]);
    this.remainingRequests = Math.min(this.remainingRequests, lease.remainingRequests);
    this.remainingTokens = Math.min(this.remainingTokens, lease.remainingTokens);
    this.queueMs = Math.max(this.queueMs, lease.queueMs);
  }

  /** Moves the claims to the scopes of departed clients and returns these scopes. */
  depart(): readonly ScopeClaim[] {
    const { limits, clock } = this.#ports;
    for (const [at, lease] of this.#leases.entries()) {
      const departed = this.#departed[at];
      if (departed !== undefined) limits.depart(lease, departed, clock.monotonicMs());
    }
    return this.#departed.flatMap((scopes) => scopes ?? []);
  }

  release(observed: TokenCount): void {
    const { limits, clock } = this.#ports;
    const nowMs = clock.monotonicMs();
    for (const lease of this.#takeLeases()) limits.release(lease, observed, nowMs);
  }

  undo(): void {
    const { limits, clock } = this.#ports;
    const nowMs = clock.monotonicMs();
    for (const lease of this.#takeLeases()) limits.undo(lease, nowMs);
  }

  #takeLeases(): readonly LimitLease[] {
    const leases = this.#leases;
    this.#leases = NO_LEASES;
    return leases;
  }
}

const NO_LEASES: readonly LimitLease[] = [];
const NO_SCOPES: readonly (readonly ScopeClaim[])[] = [];

/**
 * The claim in the limits for organizations without credit, for a call that tries the caller's own
 * provider keys first. It is made once, when the call falls back to the marketplace's keys.
 */
export interface MarketplaceClaim {
  readonly part: ClaimPart;
  isMade: boolean;
}

/** Undefined if the claim was made at the start of the call or does not apply. */
export function marketplaceClaim(
  ports: Pick<CallPorts, "scopesOf">,
  principal: Principal,
  call: LimitedCall,
): MarketplaceClaim | undefined {
  if (call.ownKeys !== "first" || call.endpoint !== undefined) return undefined;
  const { modelId } = call;
  const scopes = ports.scopesOf(principal, { modelId, unfundedOnly: true });
  if (scopes.length === 0) return undefined;
  return { part: { slot: orgSlot(principal.orgId), scopes }, isMade: false };
}

/**
 * Waits for the pacing delay. Refuses at once if the delay exceeds `timeoutMs`, and during the
 * delay if the client leaves or this process shuts down. The shared timer is coarse: a request may
 * start a tick late, never early.
 */
export function waitForPacing(
  ports: { readonly clock: Clock; readonly deadlines: Deadlines },
  client: ClientExchange,
  { queueMs, timeoutMs }: { readonly queueMs: number; readonly timeoutMs: number },
): Result<object> | Promise<Result<object>> {
  if (queueMs > timeoutMs) return refused(routingDeadlinePassed(timeoutMs));
  if (queueMs <= 0) return { ok: true };
  if (client.gone) return refused(CLIENT_HAS_LEFT);
  return new Promise((resolve) => {
    const end = (outcome: Result<object>): void => {
      ports.deadlines.unwatch(delay);
      resolve(outcome);
    };
    const delay: Deadline = {
      dueMs: ports.clock.monotonicMs() + queueMs,
      watchedAt: -1,
      onDue: () => end({ ok: true }),
      onCut: () => end(refused(SHUTTING_DOWN)),
    };
    ports.deadlines.watch(delay);
    client.onGone(() => end(refused(CLIENT_HAS_LEFT)));
  });
}
