import {
  type Clock,
  ExpiringCache,
  KEY_CACHE_ENTRIES_MAX,
  memoizeByObject,
  type MicroUsd,
  type OrgId,
  type Refusal,
  refusal,
  SHORTFALL_MS,
  SHORTFALLS_MAX,
  presentKeyId,
} from "../../kernel/index.ts";
import type { ReserveOutcome, ReserveRow } from "../../ledger/index.ts";
import type { Principal } from "../accounts/principal.ts";
import {
  type ClaimOutcome,
  type LimitStore,
  orgSlot,
  type ScopeClaim,
  NO_TOKENS,
} from "../limits/limit-store.ts";

export interface RefusalWindowOptions {
  readonly limits: Pick<LimitStore, "claim" | "release">;
  readonly clock: Clock;
  /** Most refused requests of a key per minute; an organization gets `ORG_FACTOR` times as many. */
  readonly refusalsPerMinute: number;
  /** Like `refusalsPerMinute`, for an organization without credit and for each of its keys. */
  readonly unfundedRequestsPerMinute: number;
}

/**
 * Bounds the refused requests of a caller per minute. They are free and use no other window, but
 * reading their bodies costs time: while this window is full, POST requests are refused unread. A
 * full window is remembered here, so that these refusals need no call to the limit store.
 */
export class RefusalWindows {
  readonly #options: RefusalWindowOptions;
  readonly #full = new ExpiringCache<FullWindow>(MEMORY_MS, KEY_CACHE_ENTRIES_MAX);
  /** By organization without credit: its requests that are neither admitted nor refused yet. */
  readonly #undecided = new Map<OrgId, Set<object>>();
  /** For each organization without credit, how many more refused requests its window allows. */
  readonly #left = new ExpiringCache<number>(MEMORY_MS, KEY_CACHE_ENTRIES_MAX);
  /** Memoized, because the Redis store caches by the identity of an array of scopes. */
  readonly #scopesOf = memoizeByObject((principal: Principal) => this.#listScopes(principal));

  constructor(options: RefusalWindowOptions) {
    this.#options = options;
  }

  check(principal: Principal): Refusal | undefined {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const full = this.#full.get(toMemoryKey(principal), nowMs);
    if (full === undefined || full.untilMs <= nowMs) return undefined;
    const cooldownMs = full.untilMs - nowMs;
    return {
      ...full.refusal,
      retryAfterSeconds: Math.ceil(cooldownMs / 1000),
      retryAtMs: clock.nowMs() + cooldownMs,
    };
  }

  /**
   * Admits a request before its body is read. An organization without credit may have only as many
   * undecided requests as its window still allows refusals, so that even if all of them are
   * refused, the window is not exceeded.
   */
  enter(principal: Principal, request: object): Refusal | undefined {
    const full = this.check(principal);
    if (full !== undefined || !isUnfunded(principal)) return full;
    const { orgId } = principal;
    const undecided = this.#undecided.get(orgId) ?? new Set();
    const left = this.#left.get(orgId, this.#options.clock.monotonicMs());
    const most = Math.max(1, left ?? this.#options.unfundedRequestsPerMinute);
    if (undecided.size >= most) return this.#undecidedRefusal(orgId, most);
    this.#undecided.set(orgId, undecided.add(request));
    return undefined;
  }

  /** Call this when a request is admitted or refused, or its client left. May be repeated. */
  leave({ orgId }: Principal, request: object): void {
    const undecided = this.#undecided.get(orgId);
    if (undecided?.delete(request) === true && undecided.size === 0) this.#undecided.delete(orgId);
  }

  /**
   * Forgets which request limits were full, as these may have changed; undefined means all
   * organizations. Full windows of refused requests stay, because an organization cannot change
   * them.
   */
  forget(orgId: OrgId | undefined): void {
    this.#full.drop((full) => full.isOfLimits && (orgId === undefined || full.orgId === orgId));
  }

  /** Counts a refusal that the caller caused, and then calls `leave` for its request. */
  note(principal: Principal, value: Refusal, request: object): void {
    if (isUnfunded(principal) && isFullMinute(value, principal)) {
      this.#remember(principal, value, true);
    }
    // A failed count does no harm: if the store does not answer, the next claim is refused anyway.
    void this.#count(principal)
      .catch(() => undefined)
      .then(() => this.leave(principal, request));
  }

  async #count(principal: Principal): Promise<void> {
    const first = this.#claim(principal);
    const counted = first instanceof Promise ? await first : first;
    if (counted.kind === "unavailable") return;
    const left = counted.kind === "claimed" ? counted.lease.remainingRequests : 0;
    if (isUnfunded(principal)) {
      this.#left.set(principal.orgId, left, this.#options.clock.monotonicMs());
    }
    if (left > 0) return;
    // The window is full now. The refusal of one more claim tells how long to wait.
    const second = counted.kind === "claimed" ? this.#claim(principal) : counted;
    const refused = second instanceof Promise ? await second : second;
    if (refused.kind === "refused") this.#remember(principal, windowRefusal(refused), false);
  }

  #undecidedRefusal(orgId: OrgId, limit: number): Refusal {
    return refusal(
      "rate_limit",
      `an organization without credit is limited to ${limit} requests at once that are not admitted yet; retry in 1 s, or buy credit`,
      {
        origin: "gateway_admission",
        limit: { scope: "org", kind: "concurrency", id: `refusals:${orgId}` },
        figures: { limit, used: limit, asked: 1 },
        retryAfterSeconds: 1,
        retryAtMs: this.#options.clock.nowMs() + 1_000,
      },
    );
  }

  #claim(principal: Principal): ClaimOutcome | Promise<ClaimOutcome> {
    const { limits, clock } = this.#options;
    const { orgId } = principal;
    const nowMs = clock.monotonicMs();
    const scopes = this.#scopesOf(principal);
    const claim = { orgId, slot: orgSlot(orgId), scopes, ...NO_TOKENS, nowMs };
    const release = (outcome: ClaimOutcome): ClaimOutcome => {
      if (outcome.kind === "claimed") limits.release(outcome.lease, NO_TOKENS, nowMs);
      return outcome;
    };
    const outcome = limits.claim(claim);
    return outcome instanceof Promise ? outcome.then(release) : release(outcome);
  }

  #listScopes(principal: Principal): readonly ScopeClaim[] {
    const { refusalsPerMinute, unfundedRequestsPerMinute: unfunded } = this.#options;
    const low = isUnfunded(principal) ? unfunded : Number.POSITIVE_INFINITY;
    return [
      {
        scope: "key",
        id: `refusals:${principal.keyId}`,
        shownId: `refusals:${presentKeyId(principal)}`,
        limits: { requestsPerMinute: Math.min(refusalsPerMinute, low) },
      },
      {
        scope: "org",
        id: `refusals:${principal.orgId}`,
        limits: { requestsPerMinute: Math.min(refusalsPerMinute * ORG_FACTOR, low) },
      },
    ];
  }

  #remember(principal: Principal, value: Refusal, isOfLimits: boolean): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { orgId } = principal;
    const untilMs = nowMs + (value.retryAfterSeconds ?? 0) * 1000;
    this.#full.set(toMemoryKey(principal), { refusal: value, untilMs, orgId, isOfLimits }, nowMs);
  }
}

interface FullWindow {
  readonly refusal: Refusal;
  /** Monotonic time at which the wait ends, in milliseconds. */
  readonly untilMs: number;
  readonly orgId: OrgId;
  /** True if a request limit is full, false if the window of refused requests is full. */
  readonly isOfLimits: boolean;
}

const ORG_FACTOR = 3;
/** A one-minute window counts whole seconds, so a request can count for up to 61 seconds. */
const MEMORY_MS = 61_000;

/** Returns a key that includes the credit state: buying credit ends a remembered refusal. */
function toMemoryKey(principal: Principal): string {
  return `${principal.keyId}:${String(isUnfunded(principal))}`;
}

/** True if the organization has no credit and nothing else that exempts it from the low limit. */
function isUnfunded({ funded, managed, rules }: Principal): boolean {
  return !funded && !managed && rules.connections.length === 0 && rules.endpoints.length === 0;
}

/** True for the limits on all requests per minute, not for those on changes of settings. */
function isFullMinute({ limit }: Refusal, { keyId, orgId }: Principal): boolean {
  return limit?.kind === "rpm" && (limit.id === `key:${keyId}` || limit.id === `org:${orgId}`);
}

function windowRefusal(outcome: Extract<ClaimOutcome, { kind: "refused" }>): Refusal {
  const { scope, limitKind, id, limit, used, retryAfterSeconds } = outcome;
  const whose = scope === "org" ? "the organization" : "this key";
  return refusal(
    "rate_limit",
    `${whose} is limited to ${limit} refused requests per minute; fix what the earlier error messages name, and retry after \`retry-after\``,
    {
      origin: "gateway_admission",
      limit: { scope, kind: limitKind, id },
      figures: { limit, ...(used !== undefined && { used }) },
      retryAfterSeconds,
    },
  );
}

type Shortfall = Extract<ReserveOutcome, { kind: "low_balance" | "cap" }>;

/** Compared by identity: as long as the object is the same, the organization has not changed. */
type Unchanged = Record<never, never>;

interface KnownShortfall {
  readonly outcome: Shortfall;
  readonly refusedMicroUsd: MicroUsd;
  readonly unchanged: Unchanged;
}

export interface AskedHold {
  readonly unchanged: Unchanged;
  readonly askedAtMs: number;
}

/**
 * Remembers reserves that the ledger refused for lack of money, so that a key that repeats them is
 * refused without the ledger. Never admits a request. Returns only refusals that are at most
 * `SHORTFALL_MS` old, for reserves that the ledger would have refused for the same reason. The
 * notice of a change of an organization, by this or another process, drops its refusals.
 *
 * The ledger's first refusal only adds the organization to `#watched`; the second is remembered. So
 * an organization that is never refused has no entry, and each of its calls costs two map reads.
 */
export class Shortfalls {
  readonly #clock: Clock;
  readonly #watched = new Map<OrgId, Unchanged>();
  readonly #known = new ExpiringCache<KnownShortfall>(SHORTFALL_MS, SHORTFALLS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the remembered refusal of this reserve; undefined if the ledger must decide. */
  find({ orgId, keyId, reserveMicroUsd }: ReserveRow): Shortfall | undefined {
    const unchanged = this.#watched.get(orgId);
    if (unchanged === undefined) return undefined;
    const known = this.#known.get(keyId, this.#clock.monotonicMs());
    if (known === undefined || known.unchanged !== unchanged) return undefined;
    const { outcome, refusedMicroUsd } = known;
    // A larger reserve may also fail a check that the ledger makes first, so its reason may differ.
    if (reserveMicroUsd > refusedMicroUsd || reserveMicroUsd <= freeUnder(outcome))
      return undefined;
    const isPeriodOver = outcome.kind === "cap" && this.#clock.nowMs() >= outcome.resetAtMs;
    return isPeriodOver ? undefined : outcome;
  }

  /** Call this before sending a reserve to the ledger, and pass the result to `note`. */
  asking(orgId: OrgId): AskedHold | undefined {
    const unchanged = this.#watched.get(orgId);
    return unchanged && { unchanged, askedAtMs: this.#clock.monotonicMs() };
  }

  note(row: ReserveRow, outcome: ReserveOutcome, asked: AskedHold | undefined): void {
    const { orgId, keyId, reserveMicroUsd: refusedMicroUsd } = row;
    // Less is free now than a remembered refusal says.
    if (outcome.kind === "reserved" && asked !== undefined) this.forget(orgId);
    if (outcome.kind !== "low_balance" && outcome.kind !== "cap") return;
    const unchanged = this.#watched.get(orgId);
    if (unchanged === undefined) {
      const [oldest] = this.#watched.keys();
      if (oldest !== undefined && this.#watched.size >= SHORTFALLS_MAX) {
        this.#watched.delete(oldest);
      }
      this.#watched.set(orgId, {});
    }
    // If the organization changed after the ledger refused, this refusal may no longer hold.
    if (unchanged === undefined || unchanged !== asked?.unchanged) return;
    this.#known.set(keyId, { outcome, refusedMicroUsd, unchanged }, asked.askedAtMs);
  }

  /** Drops the refusals of an organization whose money has changed; undefined means all. */
  forget(orgId: OrgId | undefined): void {
    if (orgId === undefined) this.#watched.clear();
    else this.#watched.delete(orgId);
  }
}

function freeUnder(outcome: Shortfall): bigint {
  if (outcome.kind === "low_balance") return outcome.availableMicroUsd;
  const { capMicroUsd, settledMicroUsd, inFlightMicroUsd } = outcome;
  return capMicroUsd - settledMicroUsd - inFlightMicroUsd;
}
