import {
  type Clock,
  Deadlines,
  LIMIT_CLAIM_TIMEOUT_MS,
  type Logger,
  createRecordId,
  RedisLink,
  type RedisScripts,
  type RedisServers,
  toReason,
} from "../../../kernel/index.ts";
import {
  type ClaimOutcome,
  type LimitClaim,
  type LimitLease,
  type LimitStore,
  type ScopeClaim,
  type ScopeUsage,
  type TokenCount,
  NO_TOKENS,
} from "../limit-store.ts";
import type { RecentUse } from "../recent-use-rows.ts";
import {
  ClaimSpecs,
  heldKey,
  readRefused,
  usageKey,
  readUsages,
  type ClaimSpec,
} from "./claim-spec.ts";
import { LimitStoreCounts, measuredLink } from "../limit-store-counts.ts";
import { limitScripts } from "./limit-scripts.ts";
import { Asked, AskedClaim, OpenLeases, RedisLease, UNAVAILABLE } from "./open-claims.ts";
import { SlotCalls, STEPS_MAX, type SlotCall, SlotRebuild } from "./slot-calls.ts";

const REFRESH_EVERY_MS = 3_000;
/** A refresh skips leases that were written less than this time ago. */
const FRESH_MS = 1_500;
/** The most claims and reads that may wait; a further claim is `unavailable`, a read undefined. */
const ASKED_MAX = 8_192;
/** The most times that a claim is sent: Redis may lose the slot again after each refill. */
const TRIES_MAX = 3;

/** Least time between reports: otherwise a damaged slot would be reported at each of its claims. */
const REPORT_EVERY_MS = 10_000;

/** The first number of the script's answer to a claim is one of these. */
const REFUSED = 0;
const GRANTED = 1;
const REBUILD = 2;

export interface RedisLimitStoreOptions {
  readonly servers: RedisServers;
  readonly recentUse: RecentUse;
  readonly clock: Clock;
  readonly log: Logger;
  /** The time limit of a claim in milliseconds. Default `LIMIT_CLAIM_TIMEOUT_MS`. */
  readonly answerWithinMs?: number;
  /** Only for tests: the time in milliseconds, the same for all stores of one server. */
  readonly now?: () => number;
  readonly counts?: LimitStoreCounts;
  readonly sharedScripts?: RedisScripts;
}

/**
 * Limits that any number of processes share, in Redis or Valkey, timed by the server. It stores no
 * money. If Redis has lost a slot, the use in the last minute that the journal records is restored
 * before the slot's next claim; longer windows, paces and cooldowns, among others, start empty. If
 * the server does not answer in time, claims end as `unavailable`.
 */
export class RedisLimitStore implements LimitStore {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #now: (() => number) | undefined;
  readonly #answerWithinMs: number;
  readonly #link: RedisLink;
  readonly #scripts: Pick<RedisLink, "run">;
  readonly #counts: LimitStoreCounts;
  readonly #calls: SlotCalls;
  readonly #rebuilds: SlotRebuild;
  readonly #specs: ClaimSpecs = new ClaimSpecs();
  readonly #open: OpenLeases = new OpenLeases();
  readonly #deadlines: Deadlines;
  readonly #refreshing: NodeJS.Timeout;
  readonly #name: string = createRecordId("lease").slice("lease_".length, -12);
  #claims = 0;
  #asked = 0;
  #isDown = false;
  #isClosed = false;
  #retryReportAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: RedisLimitStoreOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#now = options.now;
    this.#answerWithinMs = options.answerWithinMs ?? LIMIT_CLAIM_TIMEOUT_MS;
    const scripts = { ...limitScripts, ...options.sharedScripts };
    this.#link = new RedisLink(options.servers, scripts, (fault) => this.#reportDown(fault));
    this.#counts = options.counts ?? new LimitStoreCounts();
    this.#scripts = measuredLink(this.#link, this.#counts, options.clock);
    this.#calls = new SlotCalls(
      (script, keys, args) => this.#scripts.run(script, keys, args),
      () => this.#time(),
    );
    this.#rebuilds = new SlotRebuild(
      this.#scripts,
      options.recentUse,
      (slot) => void this.#hold((lease) => lease.sent.spec.slot === slot),
    );
    this.#deadlines = new Deadlines(options.clock);
    this.#refreshing = setInterval(() => void this.refresh(), REFRESH_EVERY_MS);
    this.#refreshing.unref();
  }

  get link(): Pick<RedisLink, "run"> {
    return this.#scripts;
  }

  /** Resolves once the first claim can be sent, or after `withinMs`; connecting then continues. */
  ready(withinMs: number): Promise<void> {
    return this.#link.ready(withinMs);
  }

  claim(claim: LimitClaim): Promise<ClaimOutcome> {
    if (this.#asked >= ASKED_MAX) return Promise.resolve(UNAVAILABLE);
    const spec = this.#specs.of(claim);
    const { slot, departed: scopes } = claim;
    const departed = scopes && this.#specs.of({ slot, scopes });
    this.#asked += 1;
    this.#claims += 1;
    const id = this.#name + this.#claims.toString(36);
    return new Promise((resolve) => {
      const onLate = (): ClaimOutcome => {
        this.#reportLate();
        return UNAVAILABLE;
      };
      const sent = { id, spec, departed, charged: claim };
      const asked = new AskedClaim(sent, this.#dueMs(), resolve, onLate);
      this.#deadlines.watch(asked);
      this.#send(asked);
    });
  }

  depart(leaving: LimitLease, scopes: readonly ScopeClaim[]): void {
    const lease = this.#open.find(leaving);
    const { sent, heldIn: left } = lease;
    const { id, spec } = sent;
    const { slot } = spec;
    const heldIn = this.#specs.of({ slot, scopes });
    lease.heldIn = heldIn;
    void this.#change(slot, (call) => `[3,${call.spec(left)},${call.spec(heldIn)},"${id}"]`);
  }

  release(lease: LimitLease, observed: TokenCount): void {
    this.#finish(this.#open.remove(lease), observed, 0);
  }

  undo(lease: LimitLease): void {
    this.#finish(this.#open.remove(lease), NO_TOKENS, -1);
  }

  peek(of: Pick<LimitClaim, "slot" | "scopes">): Promise<readonly ScopeUsage[] | undefined> {
    if (this.#asked >= ASKED_MAX) return Promise.resolve(undefined);
    const spec = this.#specs.of(of);
    this.#asked += 1;
    return new Promise((resolve) => {
      const onLate = (): undefined => this.#reportLate();
      const asked = new Asked<readonly ScopeUsage[] | undefined>(this.#dueMs(), resolve, onLate);
      this.#deadlines.watch(asked);
      this.#readUse(asked, spec);
    });
  }

  cool(slot: string, id: string, seconds: number): void {
    const keys = [usageKey(slot, id), heldKey(slot, id)] as const;
    const cooldownUs = Math.ceil(seconds * 1_000_000);
    void this.#change(slot, (call) => `[5,${call.place(...keys)},${cooldownUs}]`);
  }

  /**
   * Writes open leases to Redis again if they were last written at least `FRESH_MS` ago, so that
   * they do not expire after fifteen seconds, and are restored if lost. A timer calls this.
   */
  async refresh(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    await this.#hold((lease) => nowMs - lease.heldAtMs >= FRESH_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#refreshing);
    this.#calls.flush();
    this.#link.close();
  }

  #send(asked: AskedClaim): void {
    asked.tries += 1;
    const { id, spec, departed, charged } = asked.sent;
    const { tokens, promptTokens, completionTokens } = charged;
    const rest = `"${id}",${tokens},${promptTokens},${completionTokens}]`;
    this.#calls.ask(spec.slot, {
      kind: "claim",
      size: 1,
      write: (call) =>
        `[1,${call.spec(spec)},${departed === undefined ? 0 : call.spec(departed)},${rest}`,
      taken: (answer) => this.#answered(asked, answer),
      failed: (fault) => this.#failed(asked, fault),
    });
  }

  #readUse(asked: Asked<readonly ScopeUsage[] | undefined>, spec: ClaimSpec): void {
    const end = (usages: readonly ScopeUsage[] | undefined): void => {
      this.#asked -= 1;
      this.#deadlines.unwatch(asked);
      asked.answer(usages);
    };
    // Sends the collected claims and changes first, so that the counts include them.
    this.#calls.flush();
    this.#scripts.run("peekLimits", spec.keys, [this.#time()]).then(
      (answer) => end(isNumbers(answer) ? readUsages(spec, answer) : undefined),
      (fault: unknown) => {
        this.#reportDown(fault);
        end(undefined);
      },
    );
  }

  #answered(asked: AskedClaim, answer: unknown): void {
    const [kind, ...rest] = isNumbers(answer) ? answer : [];
    const refused = kind === REFUSED ? readRefused(asked.sent, rest) : undefined;
    if (kind === GRANTED && rest.length === 4 + asked.sent.spec.turns) this.#grant(asked, rest);
    else if (refused !== undefined) this.#end(asked, refused);
    else if (kind === REBUILD && asked.tries < TRIES_MAX) this.#refill(asked);
    else this.#failed(asked, new Error("not an answer to a claim"));
  }

  #grant(asked: AskedClaim, answer: readonly number[]): void {
    const lease = new RedisLease(asked.sent, answer, this.#clock.monotonicMs());
    // If the caller has given up, the granted claim is undone.
    if (asked.isLate) this.#finish(lease, NO_TOKENS, -1);
    else this.#open.add(lease);
    this.#end(asked, { kind: "claimed", lease });
  }

  #refill(asked: AskedClaim): void {
    const { slot } = asked.sent.spec;
    if (asked.isLate) return this.#end(asked, UNAVAILABLE);
    this.#rebuilds.rebuild(slot, this.#time()).then(
      () => {
        if (asked.isLate) this.#end(asked, UNAVAILABLE);
        else this.#send(asked);
      },
      (fault: unknown) => this.#failed(asked, fault),
    );
  }

  #failed(asked: AskedClaim, fault: unknown): void {
    this.#asked -= 1;
    this.#deadlines.unwatch(asked);
    this.#reportDown(fault);
    asked.answer(UNAVAILABLE);
  }

  #end(asked: AskedClaim, outcome: ClaimOutcome): void {
    this.#asked -= 1;
    this.#deadlines.unwatch(asked);
    if (!asked.isLate) this.#reportUp();
    asked.answer(outcome);
  }

  #finish(lease: RedisLease, observed: TokenCount, requests: number): void {
    const { sent, heldIn, second } = lease;
    const { charged, spec, id } = sent;
    const tokens = observed.tokens - charged.tokens;
    const promptTokens = observed.promptTokens - charged.promptTokens;
    const completionTokens = observed.completionTokens - charged.completionTokens;
    const amounts = [second, requests, tokens, promptTokens, completionTokens];
    const rest = [...amounts, ...(requests === 0 ? [] : lease.slotsUs)].join(",");
    void this.#change(
      spec.slot,
      (call) => `[2,${call.spec(spec)},${call.spec(heldIn)},"${id}",${rest}]`,
    );
  }

  async #hold(isMeant: (lease: RedisLease) => boolean): Promise<void> {
    const held = [...this.#open.bySpec(isMeant)];
    const nowMs = this.#clock.monotonicMs();
    await Promise.all(held.map(([spec, leases]) => this.#holdAll(spec, leases, nowMs)));
  }

  async #holdAll(spec: ClaimSpec, leases: readonly RedisLease[], nowMs: number): Promise<void> {
    for (let from = 0; from < leases.length; from += STEPS_MAX) {
      const some = leases.slice(from, from + STEPS_MAX);
      // Leases that were released or moved by `depart` meanwhile are not refreshed.
      const held = some.filter((lease) => lease.at !== -1 && lease.heldIn === spec);
      const ids = held.map((lease) => lease.sent.id);
      if (ids.length === 0) continue;
      const named = JSON.stringify(ids).slice(1);
      const step = (call: SlotCall): string => `[4,${call.spec(spec)},${named}`;
      if (!(await this.#change(spec.slot, step, ids.length))) return;
      for (const lease of some) lease.heldAtMs = nowMs;
    }
  }

  /** Sends a change. Returns false if it was lost; its leases and charges then expire. */
  #change(slot: string, write: (call: SlotCall) => string, size = 1): Promise<boolean> {
    return new Promise((resolve) => {
      const taken = (): void => resolve(true);
      const failed = (fault: unknown): void => {
        this.#reportDown(fault);
        resolve(false);
      };
      this.#calls.ask(slot, { kind: "change", size, write, taken, failed });
    });
  }

  #time(): string {
    return this.#now === undefined ? "" : String(Math.floor(this.#now() * 1000));
  }

  #dueMs(): number {
    return this.#clock.monotonicMs() + this.#answerWithinMs;
  }

  #reportLate(): undefined {
    this.#counts.late();
    this.#reportDown(new Error("no answer in time"));
  }

  #reportDown(fault: unknown): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isDown || this.#isClosed || nowMs < this.#retryReportAtMs) return;
    this.#isDown = true;
    this.#retryReportAtMs = nowMs + REPORT_EVERY_MS;
    // The Redis client's fault object contains the failed command, which may hold a password.
    const reason = toReason(fault);
    this.#log.warn({ reason }, "the limit store does not answer: requests are refused");
  }

  #reportUp(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#log.info({}, "the limit store answers again");
  }
}

function isNumbers(answer: unknown): answer is number[] {
  return Array.isArray(answer) && answer.every((each) => Number.isSafeInteger(each));
}
