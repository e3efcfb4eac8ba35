import {
  assert,
  type Clock,
  type Logger,
  type OrgId,
  parseIp,
  type Refusal,
  refusal,
  RETRY_AFTER_SECONDS_MAX,
} from "../../kernel/index.ts";
import type { CallFamily } from "../../formats/index.ts";
import type { AbuseRestriction } from "../accounts/account-rules.ts";
import type { Principal } from "../accounts/principal.ts";
import { digestHex } from "../accounts/authenticate.ts";
import {
  type AbuseMonitor,
  findUnusualUse,
  type ReachedLine,
  type UnusualUsePolicy,
  type UsageEvent,
  WatchedUse,
} from "./unusual-use.ts";
import type { AbuseRestrictionStore, UsageFinding } from "./postgres-abuse-restriction-store.ts";

/** The most pairs of an organization and a modality family that are tracked at once. */
const WATCHED_MAX = 10_000;
/** Maximum tries to store a finding. The wait doubles after each, from `RETRY_REPORT_AT_MS`. */
const REPORT_TRIES_MAX = 8;
const RETRY_REPORT_AT_MS = 1_000;

export interface UsageRule extends Pick<UsageFinding, "limitedMs" | "repeatMs"> {
  readonly policy: UnusualUsePolicy;
}

export interface UsageWatchOptions extends UsageRule {
  /** How long a principal is cached, in milliseconds. */
  readonly principalMs: number;
  readonly store: Pick<AbuseRestrictionStore, "record">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Pick<Logger, "warn">;
  /** A random secret in the digests of client addresses, so that they cannot be reversed. */
  readonly salt: Buffer;
}

/**
 * Watches organizations that have only trial credit for unusual use in this process. Applies its
 * findings at once, so that no request waits for the store, and stores them for all processes.
 */
export class TrialAbuseMonitor implements AbuseMonitor {
  readonly #options: UsageWatchOptions;
  readonly #watched: WatchedUse;
  readonly #fresh = new FreshHolds();
  readonly #salt: string;

  constructor(options: UsageWatchOptions) {
    const { policy, limitedMs, repeatMs, salt } = options;
    assert(limitedMs > 0 && repeatMs > 0, "a hold lasts, and is remembered");
    const { windowMs, clientAddresses: clientsMax = 0 } = policy;
    this.#salt = salt.toString("base64");
    this.#options = options;
    this.#watched = new WatchedUse({ windowMs, clientsMax, entriesMax: WATCHED_MAX });
  }

  get watchedNow(): number {
    return this.#watched.size;
  }

  refuse(principal: Principal, family: CallFamily, nowMs: number): Refusal | undefined {
    if (!principal.rules.isTrial) return undefined;
    const hold = this.#findRestriction(principal, family, nowMs);
    if (hold === undefined) return undefined;
    const key = watchKey(principal, family);
    // Another process may have acted on the same requests; they must not cause a second finding.
    this.#watched.forget(key);
    this.#retryReport(key, nowMs);
    return restrictionRefusal(hold, nowMs);
  }

  note(event: UsageEvent, nowMs: number): void {
    const { principal, family } = event;
    if (!principal.rules.isTrial) return;
    // Requests that end during a restriction, refused by it or still in flight, are not counted.
    if (this.#findRestriction(principal, family, nowMs) !== undefined) return;
    const key = watchKey(principal, family);
    const { outcome, debitMicroUsd } = event;
    const clientMark = this.#hashNetwork(event.clientAddress);
    const use = this.#watched.note(key, { outcome, debitMicroUsd, clientMark }, nowMs);
    const lines = findUnusualUse(this.#options.policy, use.inWindow(nowMs));
    if (lines === undefined) return;
    this.#watched.forget(key);
    this.#limit(event, lines, { sinceMs: use.sinceMs ?? nowMs, nowMs });
  }

  forget(orgId: OrgId | undefined): void {
    this.#fresh.forgetStored(orgId, this.#options.clock.nowMs());
  }

  #findRestriction(
    principal: Principal,
    family: CallFamily,
    nowMs: number,
  ): AbuseRestriction | undefined {
    const fresh = this.#fresh.find(watchKey(principal, family), nowMs)?.hold;
    const { abuseRestrictions } = principal.rules;
    if (fresh === undefined && abuseRestrictions.length === 0) return undefined;
    const stored = abuseRestrictions.filter((each) => each.family === family);
    const active = [...stored, ...(fresh ? [fresh] : [])].filter(
      ({ untilMs }) => untilMs === undefined || nowMs < untilMs,
    );
    return active.find(({ state }) => state === "restricted") ?? latest(active);
  }

  #hashNetwork(clientAddress: string | undefined): string | undefined {
    const { policy } = this.#options;
    if (clientAddress === undefined || policy.clientAddresses === undefined) return undefined;
    // The digests stay in this process, so a secret prefix of fixed length is as good as an HMAC,
    // which took a seventh of the time of a refused request.
    return digestHex(`${this.#salt}${clientNetwork(clientAddress)}`);
  }

  #limit(
    { principal, family }: UsageEvent,
    lines: readonly ReachedLine[],
    at: { readonly sinceMs: number; readonly nowMs: number },
  ): void {
    const { limitedMs, repeatMs, policy } = this.#options;
    const untilMs = at.nowMs + limitedMs;
    const seen = lines.map((each) => `${each.line} ${each.seen}`).join(", ");
    const reason = `${seen} in ${policy.windowMs / 1000} s`;
    const { orgId } = principal;
    const finding = { orgId, family, reason, repeatMs };
    const { sinceMs, nowMs } = at;
    const untold = { finding, sinceMs, untilMs, tries: 0, nextTryMs: nowMs };
    const key = watchKey(principal, family);
    const hold: AbuseRestriction = { family, state: "limited", untilMs };
    this.#fresh.set(key, { orgId, hold, goodUntilMs: untilMs, untold, isStored: false }, nowMs);
    this.#retryReport(key, nowMs);
  }

  #retryReport(key: string, nowMs: number): void {
    const fresh = this.#fresh.find(key, nowMs);
    const untold = fresh?.untold;
    if (fresh === undefined || untold === undefined || nowMs < untold.nextTryMs) return;
    this.#fresh.set(key, { ...fresh, untold: undefined }, nowMs);
    void this.#report(key, untold, nowMs);
  }

  async #report(key: string, untold: UntoldFinding, askedAtMs: number): Promise<void> {
    const { store, clock, log, principalMs } = this.#options;
    const { finding, sinceMs, untilMs } = untold;
    const detail = { org_id: finding.orgId, kind: finding.family, reason: finding.reason };
    try {
      const hold = await store.record({
        ...finding,
        ageMs: Math.max(0, askedAtMs - sinceMs),
        limitedMs: untilMs - askedAtMs,
      });
      const nowMs = clock.nowMs();
      if (hold === undefined) this.#fresh.delete(key);
      else {
        // This process applies the restriction until every cached principal includes it.
        const goodUntilMs = nowMs + principalMs;
        const stored = { orgId: finding.orgId, hold, goodUntilMs, untold: undefined };
        this.#fresh.set(key, { ...stored, isStored: true }, nowMs);
      }
      log.warn({ ...detail, state: hold?.state ?? "none" }, "unusual use on trial credit");
    } catch (fault) {
      log.warn({ ...detail, err: fault }, "unusual use could not be recorded");
      const tries = untold.tries + 1;
      const nowMs = clock.nowMs();
      const fresh = this.#fresh.find(key, nowMs);
      if (fresh === undefined || tries === REPORT_TRIES_MAX) return;
      const nextTryMs = nowMs + RETRY_REPORT_AT_MS * 2 ** untold.tries;
      this.#fresh.set(key, { ...fresh, untold: { ...untold, tries, nextTryMs } }, nowMs);
    }
  }
}

function watchKey(principal: Principal, family: CallFamily): string {
  return `${family} ${principal.orgId}`;
}

function latest(holds: readonly AbuseRestriction[]): AbuseRestriction | undefined {
  return holds.reduce<AbuseRestriction | undefined>(
    (last, each) => ((each.untilMs ?? 0) > (last?.untilMs ?? 0) ? each : last),
    undefined,
  );
}

/** Reveals neither the finding nor the thresholds, so that nobody can stay just below them. */
function restrictionRefusal(hold: AbuseRestriction, nowMs: number): Refusal {
  const what = `unusual usage was detected for this organization, which has only trial credit: its ${hold.family} requests are`;
  if (hold.untilMs === undefined) {
    return refusal(
      "usage_restricted",
      `${what} refused until support has reviewed them; contact support with this request id`,
      { origin: "gateway_admission" },
    );
  }
  const remainingSeconds = Math.ceil((hold.untilMs - nowMs) / 1000);
  return refusal(
    "usage_limited",
    `${what} limited temporarily; wait \`retry-after\`, and contact support with this request id if it persists`,
    {
      origin: "gateway_admission",
      retryAfterSeconds: Math.min(RETRY_AFTER_SECONDS_MAX, remainingSeconds),
      retryAtMs: hold.untilMs,
    },
  );
}

/**
 * Returns the network by which clients are counted: an IPv4 address, or the first 64 bits of an
 * IPv6 address, within which one subscriber can switch addresses at will.
 */
export function clientNetwork(address: string): string {
  if (/^[\d.]+$/.test(address)) return address;
  const ip = parseIp(address);
  if (ip === undefined) return address.toLowerCase();
  if (ip.length === 4) return ip.join(".");
  const groups = ip.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(":")}::/64`;
}

const FRESH_HOLDS_MAX = 10_000;
/**
 * After cached principals are dropped, stored restrictions are applied this much longer, because a
 * request whose body is still arriving uses a principal that was read before.
 */
export const REQUESTS_ON_THEIR_WAY_MS = 1_000;

/** A restriction that this process has placed and that cached principals may not include yet. */
interface FreshHold {
  readonly orgId: OrgId;
  readonly hold: AbuseRestriction;
  /** Wall-clock time from which every principal includes the hold, or at which the hold ends. */
  readonly goodUntilMs: number;
  /** The finding to store; undefined once it is stored or being stored. */
  readonly untold: UntoldFinding | undefined;
  /** True once the restriction is stored: principals that are read later include it. */
  readonly isStored: boolean;
}

interface UntoldFinding {
  readonly finding: Omit<UsageFinding, "ageMs" | "limitedMs">;
  /** Wall-clock time at which the oldest request that the finding counts ended. */
  readonly sinceMs: number;
  /** Wall-clock end of the restriction that this process applies until the store has answered. */
  readonly untilMs: number;
  readonly tries: number;
  readonly nextTryMs: number;
}

/** Restrictions that cached principals may not include yet. They expire and are bounded. */
class FreshHolds {
  readonly #holds = new Map<string, FreshHold>();

  find(key: string, nowMs: number): FreshHold | undefined {
    const fresh = this.#holds.get(key);
    if (fresh === undefined || nowMs < fresh.goodUntilMs) return fresh;
    this.#holds.delete(key);
    return undefined;
  }

  set(key: string, fresh: FreshHold, nowMs: number): void {
    this.#holds.delete(key);
    for (const [other, { goodUntilMs }] of this.#holds) {
      if (nowMs >= goodUntilMs || this.#holds.size >= FRESH_HOLDS_MAX) this.#holds.delete(other);
    }
    this.#holds.set(key, fresh);
    assert(this.#holds.size <= FRESH_HOLDS_MAX, "fresh holds are bounded");
  }

  delete(key: string): void {
    this.#holds.delete(key);
  }

  /**
   * Lets stored restrictions expire after `REQUESTS_ON_THEIR_WAY_MS`, because principals that are
   * read from now on include them. An undefined `orgId` means all organizations.
   */
  forgetStored(orgId: OrgId | undefined, nowMs: number): void {
    const endMs = nowMs + REQUESTS_ON_THEIR_WAY_MS;
    for (const [key, fresh] of this.#holds) {
      if (!fresh.isStored || (orgId !== undefined && orgId !== fresh.orgId)) continue;
      if (endMs < fresh.goodUntilMs) this.#holds.set(key, { ...fresh, goodUntilMs: endMs });
    }
  }
}
