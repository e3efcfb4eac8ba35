import {
  type Clock,
  Deadlines,
  LIMIT_CLAIM_TIMEOUT_MS,
  type Logger,
  newRecordId,
  RedisLink,
  type RedisScripts,
  type RedisServers,
} from "../../../kernel/index.ts";
import type {
  ClaimOutcome,
  LimitClaim,
  LimitLease,
  LimitStore,
  ScopeClaim,
  ScopeUsage,
  TokenCount,
} from "../limit-store.ts";
import type { RecentUse } from "../recent-use.ts";
import { AskedClaim, UNAVAILABLE } from "./asked-claim.ts";
import { Asked } from "./asked.ts";
import {
  ClaimSpecs,
  markKey,
  refusedBy,
  usageKey,
  usagesOf,
  type ClaimSpec,
} from "./claim-spec.ts";
import { LimitStoreCounts } from "../limit-store-counts.ts";
import { limitScripts } from "./limit-scripts.ts";
import { measuredLink } from "./measured-link.ts";
import { OpenLeases, RedisLease } from "./open-leases.ts";
import { SlotRebuild } from "./slot-rebuild.ts";

const REFRESH_EVERY_MS = 3_000;
/** A lease that was written since is left alone by the next refresh. */
const FRESH_MS = 1_500;
const LEASES_PER_REFRESH = 1_000;
/** Claims without an answer yet; one more is refused. */
const ASKED_MAX = 8_192;
/** A slot may be lost again while it is refilled; but not endlessly. */
const TRIES_MAX = 3;

/** One slot that is damaged, among many that are not, does not fill the log. */
const REPORT_EVERY_MS = 10_000;

/** First number of the claim script's answer. */
const REFUSED = 0;
const GRANTED = 1;
const REBUILD = 2;

const NOTHING: TokenCount = { tokens: 0, promptTokens: 0, completionTokens: 0 };

export interface RedisLimitStoreOptions {
  /** See `RedisLink`. */
  readonly servers: RedisServers;
  readonly recentUse: RecentUse;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a claim waits for its answer, in milliseconds. Default `LIMIT_CLAIM_TIMEOUT_MS`. */
  readonly answerWithinMs?: number;
  /**
   * Tests only: the time in milliseconds that windows, paces and leases use, instead of the
   * server's own. All stores on one server must be given the same.
   */
  readonly now?: () => number;
  /** How the server answers is noted here. */
  readonly counts?: LimitStoreCounts;
  /** Scripts of others that are run on the same connection. */
  readonly sharedScripts?: RedisScripts;
}

/**
 * Limits shared by any number of processes: one script per claim on one Redis (or Valkey), by that
 * server's clock. Holds no money, and nothing that the journal cannot refill: a slot that was lost
 * is refilled before its next claim, a server that does not answer in time refuses as `unavailable`.
 */
export class RedisLimitStore implements LimitStore {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #now: (() => number) | undefined;
  readonly #answerWithinMs: number;
  readonly #link: RedisLink;
  /** The same, measured. */
  readonly #scripts: Pick<RedisLink, "run">;
  readonly #counts: LimitStoreCounts;
  readonly #rebuilds: SlotRebuild;
  readonly #specs: ClaimSpecs = new ClaimSpecs();
  readonly #open: OpenLeases = new OpenLeases();
  readonly #deadlines: Deadlines;
  readonly #refreshing: NodeJS.Timeout;
  /** Begins the name of each lease of this process. */
  readonly #name: string = newRecordId("lease").slice("lease_".length, -12);
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
    this.#rebuilds = new SlotRebuild(this.#scripts, options.recentUse);
    this.#deadlines = new Deadlines(options.clock);
    this.#refreshing = setInterval(() => void this.refresh(), REFRESH_EVERY_MS);
    this.#refreshing.unref();
  }

  /**
   * For what else is shared on the same server: a process that cannot claim needs none of it
   * either.
   */
  get link(): Pick<RedisLink, "run"> {
    return this.#scripts;
  }

  /** Resolves when the first claim can be sent, or after `withinMs`: it then continues trying. */
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
      const onLate = (): void => this.#reportLate();
      const asked = new AskedClaim({ id, spec, departed, claim }, this.#dueMs(), resolve, onLate);
      this.#deadlines.watch(asked);
      this.#send(asked);
    });
  }

  depart(leaving: LimitLease, scopes: readonly ScopeClaim[]): void {
    const lease = this.#open.find(leaving);
    const { id, heldIn: left } = lease;
    lease.heldIn = this.#specs.of({ slot: lease.spec.slot, scopes });
    void this.#change(left.keys, ["depart", id]);
    void this.#change(lease.heldIn.keys, ["refresh", id]);
  }

  release(lease: LimitLease, observed: TokenCount): void {
    this.#finish(this.#open.remove(lease), observed, 0);
  }

  undo(lease: LimitLease): void {
    this.#finish(this.#open.remove(lease), NOTHING, -1);
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
    const cooldownUs = Math.ceil(seconds * 1_000_000);
    void this.#change([markKey(slot), usageKey(slot, id)], ["cool", cooldownUs]);
  }

  /**
   * Reports to Redis which leases are held, so that they outlive their fifteen seconds and are
   * there again after a loss. Runs by itself every three seconds; resolves when Redis has answered.
   */
  async refresh(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    await this.#hold((lease) => nowMs - lease.heldAtMs >= FRESH_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#refreshing);
    this.#link.close();
  }

  #send(asked: AskedClaim): void {
    asked.tries += 1;
    const { id, spec, departed, charged } = asked;
    const { tokens, promptTokens, completionTokens } = charged;
    const amounts = [tokens, promptTokens, completionTokens];
    const mosts = departed?.scopes.map(({ limits }) => limits.concurrent ?? 0) ?? [];
    const args = [this.#time(), id, ...amounts, spec.limits, ...mosts];
    this.#scripts.run("claimLimits", keysOf(spec, departed), args).then(
      (answer) => this.#answered(asked, answer),
      (fault: unknown) => this.#failed(asked, fault),
    );
  }

  #readUse(asked: Asked<readonly ScopeUsage[] | undefined>, spec: ClaimSpec): void {
    const end = (usages: readonly ScopeUsage[] | undefined): void => {
      this.#asked -= 1;
      this.#deadlines.unwatch(asked);
      asked.answer(usages);
    };
    this.#scripts.run("peekLimits", spec.keys, [this.#time()]).then(
      (answer) => end(isNumbers(answer) ? usagesOf(spec, answer) : undefined),
      (fault: unknown) => {
        this.#reportDown(fault);
        end(undefined);
      },
    );
  }

  #answered(asked: AskedClaim, answer: unknown): void {
    const [kind, ...rest] = isNumbers(answer) ? answer : [];
    const refused = kind === REFUSED ? refusedBy(asked, rest) : undefined;
    if (kind === GRANTED && rest.length === 4 + asked.spec.turns) this.#grant(asked, rest);
    else if (refused !== undefined) this.#end(asked, refused);
    else if (kind === REBUILD && asked.tries < TRIES_MAX) this.#refill(asked);
    else this.#failed(asked, new Error("not an answer to a claim"));
  }

  #grant(asked: AskedClaim, answer: readonly number[]): void {
    const lease = new RedisLease(asked, answer, this.#clock.monotonicMs());
    // Its caller has gone on without it.
    if (asked.isLate) this.#finish(lease, NOTHING, -1);
    else this.#open.add(lease);
    this.#end(asked, { kind: "claimed", lease });
  }

  #refill(asked: AskedClaim): void {
    const { slot } = asked.spec;
    if (asked.isLate) return this.#end(asked, UNAVAILABLE);
    this.#rebuilds.rebuild(slot, this.#time()).then(
      () => {
        void this.#hold((lease) => lease.spec.slot === slot);
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
    const { charged, spec, heldIn } = lease;
    void this.#change(keysOf(spec, heldIn === spec ? undefined : heldIn), [
      "end",
      lease.id,
      lease.second,
      requests,
      observed.tokens - charged.tokens,
      observed.promptTokens - charged.promptTokens,
      observed.completionTokens - charged.completionTokens,
      spec.limits,
      ...(requests === 0 ? [] : lease.slotsUs),
    ]);
  }

  async #hold(isMeant: (lease: RedisLease) => boolean): Promise<void> {
    const held = [...this.#open.bySpec(isMeant)];
    const nowMs = this.#clock.monotonicMs();
    await Promise.all(held.map(([spec, leases]) => this.#holdAll(spec, leases, nowMs)));
  }

  async #holdAll(spec: ClaimSpec, leases: readonly RedisLease[], nowMs: number): Promise<void> {
    for (let from = 0; from < leases.length; from += LEASES_PER_REFRESH) {
      const some = leases.slice(from, from + LEASES_PER_REFRESH);
      // Those that are released or departed meanwhile are not held again.
      const held = some.filter((lease) => lease.at !== -1 && lease.heldIn === spec);
      const ids = held.map((lease) => lease.id);
      if (ids.length === 0) continue;
      if (!(await this.#change(spec.keys, ["refresh", ...ids]))) return;
      for (const lease of some) lease.heldAtMs = nowMs;
    }
  }

  /** Sends what no caller waits for. When it is lost, time sets it right: 15 s, or the window. */
  async #change(keys: readonly string[], args: readonly (string | number)[]): Promise<boolean> {
    try {
      await this.#scripts.run("handBackLimits", keys, [this.#time(), ...args]);
      return true;
    } catch (fault) {
      this.#reportDown(fault);
      return false;
    }
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
    // The message only: a fault of the client holds the command that failed, a password among them.
    const reason = fault instanceof Error ? fault.message : String(fault);
    this.#log.warn({ reason }, "the limit store does not answer: requests are refused");
  }

  #reportUp(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#log.info({}, "the limit store answers again");
  }
}

/** The keys of a claim, and behind them those of the scopes of departed calls. */
function keysOf(spec: ClaimSpec, departed: ClaimSpec | undefined): readonly string[] {
  return departed === undefined ? spec.keys : [...spec.keys, ...departed.keys.slice(1)];
}

function isNumbers(answer: unknown): answer is number[] {
  return Array.isArray(answer) && answer.every((each) => Number.isSafeInteger(each));
}
