import {
  type Clock,
  ExpiringCache,
  KEY_CACHE_ENTRIES_MAX,
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
  /** Refused requests per minute of one key; an organization has three times as many. */
  readonly refusalsPerMinute: number;
  /** The limit for an organization without credit, and for each of its keys. */
  readonly unfundedRequestsPerMinute: number;
}

/**
 * Windows that bound refused requests. Refused requests are free and use none of the caller's other
 * windows, but reading them is work: a key that exceeds these windows is refused before its body is
 * read. A full window is remembered here, so that further requests need no store.
 */
export class RefusalWindows {
  readonly #options: RefusalWindowOptions;
  readonly #full = new ExpiringCache<FullWindow>(MEMORY_MS, KEY_CACHE_ENTRIES_MAX);
  /** Requests of organizations without credit whose refusal or admission is not known yet. */
  readonly #undecided = new Map<OrgId, Set<object>>();
  /** The refusals that were left in the window of such an organization after its last one. */
  readonly #left = new ExpiringCache<number>(MEMORY_MS, KEY_CACHE_ENTRIES_MAX);
  readonly #scopes = new WeakMap<Principal, readonly ScopeClaim[]>();

  constructor(options: RefusalWindowOptions) {
    this.#options = options;
  }

  /** Refuses before the body is read; undefined when no window is full. */
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
   * Admits a request whose body is read next. For an organization without credit, only as many
   * requests may be undecided at once as its window of refused requests has left, so that
   * concurrent requests cannot exceed it.
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

  /**
   * Ends the undecided state of a request that was admitted or refused, or whose client left. Does
   * nothing if it was never entered or has left already.
   */
  leave({ orgId }: Principal, request: object): void {
    const undecided = this.#undecided.get(orgId);
    if (undecided?.delete(request) === true && undecided.size === 0) this.#undecided.delete(orgId);
  }

  /**
   * Forgets full limits of this organization, or of all, because they may have changed. Full
   * windows of refused requests stay, because an organization cannot change those.
   */
  forget(orgId: OrgId | undefined): void {
    this.#full.drop((full) => full.isOfLimits && (orgId === undefined || full.orgId === orgId));
  }

  /** Counts a refusal that the caller caused; its request leaves when it is counted. */
  note(principal: Principal, value: Refusal, request: object): void {
    if (isFullMinute(value) && isUnfunded(principal)) this.#remember(principal, value, true);
    // A store that does not answer refuses the next claim of this caller anyway.
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
    // The window has just become full: one more claim is refused, with the time until it has
    // capacity.
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
    const scopes = this.#listScopes(principal);
    const claim = { orgId, slot: orgSlot(orgId), scopes, ...NO_TOKENS, nowMs };
    const release = (outcome: ClaimOutcome): ClaimOutcome => {
      if (outcome.kind === "claimed") limits.release(outcome.lease, NO_TOKENS, nowMs);
      return outcome;
    };
    const outcome = limits.claim(claim);
    return outcome instanceof Promise ? outcome.then(release) : release(outcome);
  }

  /*
   * Returns the same array for one principal, because a shared store caches what it derives from
   * it.
   */
  #listScopes(principal: Principal): readonly ScopeClaim[] {
    const known = this.#scopes.get(principal);
    if (known !== undefined) return known;
    const { refusalsPerMinute, unfundedRequestsPerMinute: unfunded } = this.#options;
    const low = isUnfunded(principal) ? unfunded : Number.POSITIVE_INFINITY;
    const scopes: readonly ScopeClaim[] = [
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
    this.#scopes.set(principal, scopes);
    return scopes;
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
  /** Monotonic milliseconds. */
  readonly untilMs: number;
  readonly orgId: OrgId;
  /** True for a limit of the caller's requests, false for a window of refused ones. */
  readonly isOfLimits: boolean;
}

const ORG_FACTOR = 3;
/** A charge can stay in a window of a minute for up to 61 seconds. */
const MEMORY_MS = 61_000;

/** Includes the credit state, so that buying credit lifts a remembered refusal. */
function toMemoryKey(principal: Principal): string {
  return `${principal.keyId}:${String(isUnfunded(principal))}`;
}

/** True for an organization without credit and without anything that is exempt from its limit. */
function isUnfunded({ funded, managed, rules }: Principal): boolean {
  return !funded && !managed && rules.connections.length === 0 && rules.endpoints.length === 0;
}

/** True if the refusal is for the caller's own requests per minute. */
function isFullMinute({ origin, limit }: Refusal): boolean {
  return (
    origin === "gateway_admission" &&
    limit?.kind === "rpm" &&
    (limit.scope === "key" || limit.scope === "org")
  );
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

/**
 * Compared by identity: the same object means that nothing of the organization has changed since.
 */
type Unchanged = Record<never, never>;

interface KnownShortfall {
  readonly outcome: Shortfall;
  /** The reserve that was refused. */
  readonly refusedMicroUsd: MicroUsd;
  readonly unchanged: Unchanged;
}

/** The state in which a hold was requested; it decides whether its refusal may be cached. */
export interface AskedHold {
  readonly unchanged: Unchanged;
  /** Monotonic milliseconds. */
  readonly askedAtMs: number;
}

/**
 * Caches reserves that the ledger refused for lack of money, so that a key that repeats such a
 * request is refused without the ledger. It never admits a request. It returns only answers of the
 * ledger that are at most `SHORTFALL_MS` old, and only for reserves that the ledger would have
 * refused for the same reason. A change of an organization that this process makes or is notified
 * of drops its entries at once.
 *
 * Only the second refusal in a row is cached: the first one starts to watch the organization. An
 * organization that is served costs two reads of a map and no entry.
 */
export class Shortfalls {
  readonly #clock: Clock;
  readonly #watched = new Map<OrgId, Unchanged>();
  readonly #known = new ExpiringCache<KnownShortfall>(SHORTFALL_MS, SHORTFALLS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The cached refusal of this reserve; undefined if the ledger must decide. */
  find({ orgId, keyId, reserveMicroUsd }: ReserveRow): Shortfall | undefined {
    const unchanged = this.#watched.get(orgId);
    if (unchanged === undefined) return undefined;
    const known = this.#known.get(keyId, this.#clock.monotonicMs());
    if (known === undefined || known.unchanged !== unchanged) return undefined;
    const { outcome, refusedMicroUsd } = known;
    // A larger reserve may break a rule that is checked earlier, and must get that rule's answer.
    if (reserveMicroUsd > refusedMicroUsd || reserveMicroUsd <= freeUnder(outcome))
      return undefined;
    return this.#isOver(outcome) ? undefined : outcome;
  }

  /** Call this before asking the ledger. */
  asking(orgId: OrgId): AskedHold | undefined {
    const unchanged = this.#watched.get(orgId);
    return unchanged && { unchanged, askedAtMs: this.#clock.monotonicMs() };
  }

  /** Notes the ledger's answer to a reserve. */
  note(row: ReserveRow, outcome: ReserveOutcome, asked: AskedHold | undefined): void {
    if (outcome.kind !== "low_balance" && outcome.kind !== "cap") return;
    const { orgId, keyId, reserveMicroUsd: refusedMicroUsd } = row;
    const unchanged = this.#watched.get(orgId);
    if (unchanged === undefined) this.#watch(orgId);
    // A reserve that was sent before a change may have been answered by the earlier state.
    if (unchanged === undefined || unchanged !== asked?.unchanged) return;
    this.#known.set(keyId, { outcome, refusedMicroUsd, unchanged }, asked.askedAtMs);
  }

  /** Drops the entries of an organization that may have more money now; undefined drops all. */
  forget(orgId: OrgId | undefined): void {
    if (orgId === undefined) this.#watched.clear();
    else this.#watched.delete(orgId);
  }

  #watch(orgId: OrgId): void {
    if (this.#watched.size >= SHORTFALLS_MAX) {
      for (const oldest of this.#watched.keys()) {
        this.#watched.delete(oldest);
        break;
      }
    }
    this.#watched.set(orgId, {});
  }

  /** True if the refusal is by a cap whose period has ended. */
  #isOver(outcome: Shortfall): boolean {
    return outcome.kind === "cap" && this.#clock.nowMs() >= outcome.resetAtMs;
  }
}

/** The amount that could still be held when the ledger answered. */
function freeUnder(outcome: Shortfall): bigint {
  if (outcome.kind === "low_balance") return outcome.availableMicroUsd;
  const { capMicroUsd, settledMicroUsd, inFlightMicroUsd } = outcome;
  return capMicroUsd - settledMicroUsd - inFlightMicroUsd;
}
