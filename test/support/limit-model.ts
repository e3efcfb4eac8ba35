import type { LimitValues } from "../../src/gateway/limits/limit-ceilings.ts";
import {
  NO_TOKENS,
  type ClaimOutcome,
  type DeclaredWindow,
  type ScopeClaim,
  type ScopeUsage,
  type TokenCount,
} from "../../src/gateway/limits/limit-store.ts";

interface Charge {
  readonly id: string;
  readonly second: number;
  readonly atMs: number;
  readonly hasTokens: boolean;
  requests: number;
  tokens: TokenCount;
  inFlight: boolean;
}

export interface ModelLease {
  readonly charges: readonly Charge[];
  readonly turns: readonly {
    readonly id: string;
    readonly fromUs: number;
    readonly toUs: number;
  }[];
  /** The charges that stay in flight after the client has left. */
  readonly departed: Charge[];
}

/** The outcome of a claim in a form that can be compared with the store's. */
export interface Verdict {
  readonly refused?: string;
  readonly remaining?: readonly [requests: number, tokens: number, queueMs: number];
  readonly usages?: readonly ScopeUsage[];
}

/** The oracle for limits: it keeps every charge in a list, and adds the list up for each answer. */
export class LimitModel {
  readonly charges: Charge[] = [];
  readonly #nextSlotUs: Map<string, number> = new Map();
  readonly #coolUntilMs: Map<string, number> = new Map();

  claim(
    { scopes, departed = [] }: { scopes: readonly ScopeClaim[]; departed?: readonly ScopeClaim[] },
    tokens: TokenCount,
    nowMs: number,
  ): { readonly verdict: Verdict; readonly lease?: ModelLease } {
    const refusals = scopes.flatMap((scope) =>
      this.#refusals(scope, tokens, nowMs).map(([what, seconds]) => {
        return { what: `${scope.id} ${what}`, seconds: Math.max(1, Math.ceil(seconds)) };
      }),
    );
    const [first] = refusals;
    if (first !== undefined) {
      const longest = Math.max(...refusals.map(({ seconds }) => seconds));
      return { verdict: { refused: `${first.what} ${longest}` } };
    }
    const full = departed.find(
      ({ id, limits }) => this.#inFlight(id) >= (limits.concurrent ?? Infinity),
    );
    if (full !== undefined) return { verdict: { refused: `${full.shownId} concurrency 1` } };
    const lease = this.#take(scopes, tokens, nowMs);
    const second = Math.floor(nowMs / 1000);
    const left = (limit: (scope: ScopeClaim) => number | undefined, of: Quantity): number =>
      Math.min(
        ...scopes.map((scope) => {
          const allowed = limit(scope);
          return allowed === undefined
            ? Number.MAX_SAFE_INTEGER
            : allowed - this.#used(scope.id, second, 1, of);
        }),
      );
    const remaining = [
      left((scope) => scope.limits.requestsPerMinute, requestsOf),
      left((scope) => scope.limits.tokensPerMinute, tokensOf),
      Math.max(0, ...lease.turns.map(({ fromUs }) => Math.ceil((fromUs - nowMs * 1000) / 1000))),
    ] as const;
    return { verdict: { remaining }, lease };
  }

  depart({ charges, departed }: ModelLease, scopes: readonly ScopeClaim[], nowMs: number): void {
    for (const charge of charges) charge.inFlight = false;
    const second = Math.floor(nowMs / 1000);
    const nothing = { requests: 0, hasTokens: false, tokens: NO_TOKENS };
    const present = { second, atMs: nowMs, inFlight: true };
    departed.push(...scopes.map(({ id }) => ({ id, ...present, ...nothing })));
    this.charges.push(...departed);
  }

  release(lease: ModelLease, observed: TokenCount): void {
    for (const charge of lease.departed) charge.inFlight = false;
    for (const charge of lease.charges) {
      charge.inFlight = false;
      if (charge.hasTokens) charge.tokens = observed;
    }
  }

  undo(lease: ModelLease): void {
    for (const charge of lease.departed) charge.inFlight = false;
    for (const charge of lease.charges) {
      charge.inFlight = false;
      charge.requests = 0;
      charge.tokens = NO_TOKENS;
    }
    for (const { id, fromUs, toUs } of lease.turns) {
      if (this.#nextSlotUs.get(id) === toUs) this.#nextSlotUs.set(id, fromUs);
    }
  }

  peek(scopes: readonly ScopeClaim[], nowMs: number): readonly ScopeUsage[] {
    const second = Math.floor(nowMs / 1000);
    return scopes.map(({ id }) => ({
      requests: this.#used(id, second, 1, requestsOf),
      tokens: this.#used(id, second, 1, tokensOf),
      inFlight: this.#inFlight(id),
    }));
  }

  cool(id: string, seconds: number, nowMs: number): void {
    this.#coolUntilMs.set(id, Math.max(this.#coolUntilMs.get(id) ?? 0, nowMs + seconds * 1000));
  }

  /** Returns the limits of a scope that refuse, each with its wait in seconds. */
  #refusals(scope: ScopeClaim, tokens: TokenCount, nowMs: number): (readonly [string, number])[] {
    const { id, limits } = scope;
    const second = Math.floor(nowMs / 1000);
    const found: (readonly [string, number])[] = [];
    const cooldownMs = (this.#coolUntilMs.get(id) ?? 0) - nowMs;
    if (cooldownMs > 0) found.push(["capacity", cooldownMs / 1000]);
    if (limits.requestsPerSecond !== undefined) {
      const inSecond = this.charges.filter((each) => each.id === id && each.second === second);
      if (sum(inSecond, requestsOf) >= limits.requestsPerSecond) found.push(["rps", 1]);
    }
    const over = (
      what: string,
      charged: { length: number; of: Quantity; limit: number | undefined },
    ) => {
      const { limit, of } = charged;
      const amount = of({ requests: 1, tokens });
      if (limit === undefined) return;
      const seconds = this.#wait({ id, second, ...charged }, amount, limit);
      if (seconds !== undefined) found.push([what, seconds]);
    };
    over("rpm", { length: 1, of: requestsOf, limit: limits.requestsPerMinute });
    over("tpm", { length: 1, of: tokensOf, limit: limits.tokensPerMinute });
    for (const { kind, seconds, limit } of limits.windows ?? []) {
      over(`${kind} ${seconds}`, { length: seconds / 60, of: QUANTITIES[kind], limit });
    }
    if (this.#inFlight(id) >= (limits.concurrent ?? Infinity)) found.push(["concurrency", 1]);
    if (limits.paced === undefined) return found;
    const overMs = this.#queueMs(id, nowMs) - limits.paced.waitMsMax;
    if (overMs > 0) found.push(["rps_queue", overMs / 1000]);
    return found;
  }

  #take(scopes: readonly ScopeClaim[], tokens: TokenCount, nowMs: number): ModelLease {
    const second = Math.floor(nowMs / 1000);
    const charges = scopes.map((scope) => {
      const requests = isCounted(scope, "requestsPerMinute") ? 1 : 0;
      const hasTokens = isCounted(scope, "tokensPerMinute");
      const inFlight = isCounted(scope, "concurrent");
      const counted = { requests, hasTokens, tokens: hasTokens ? tokens : NO_TOKENS, inFlight };
      return { id: scope.id, second, atMs: nowMs, ...counted };
    });
    this.charges.push(...charges);
    const turns = scopes.flatMap((scope) => {
      const { paced } = scope.limits;
      if (paced === undefined) return [];
      const fromUs = nowMs * 1000 + this.#queueMs(scope.id, nowMs) * 1000;
      const toUs = fromUs + Math.ceil(1_000_000 / paced.perSecond);
      this.#nextSlotUs.set(scope.id, toUs);
      return { id: scope.id, fromUs, toUs };
    });
    return { charges, turns, departed: [] };
  }

  #inFlight(id: string): number {
    return this.charges.filter((each) => each.id === id && each.inFlight).length;
  }

  #queueMs(id: string, nowMs: number): number {
    return Math.max(0, (this.#nextSlotUs.get(id) ?? 0) - nowMs * 1000) / 1000;
  }

  /** Seconds until `amount` fits, or until all windows have passed; undefined if it fits now. */
  #wait(
    asked: { id: string; second: number; length: number; of: Quantity },
    amount: number,
    limit: number,
  ): number | undefined {
    const { id, second, length, of } = asked;
    const fits = (at: number): boolean => this.#used(id, at, length, of) + amount <= limit;
    if (fits(second)) return undefined;
    const edge = (length - (second % length)) % length || length;
    for (let ahead = edge; ahead < edge + 60 * length; ahead += length) {
      if (fits(second + ahead)) return ahead;
    }
    return edge + 60 * length;
  }

  #used(id: string, second: number, length: number, of: Quantity): number {
    const now = Math.floor(second / length);
    const inside = this.charges.filter(
      (each) => each.id === id && now - Math.floor(each.second / length) <= 60,
    );
    return sum(inside, of);
  }
}

export function verdictOf(outcome: ClaimOutcome, scopes: readonly ScopeClaim[]): Verdict {
  if (outcome.kind === "unavailable") return { refused: "unavailable" };
  if (outcome.kind === "claimed") {
    const { remainingRequests, remainingTokens, queueMs } = outcome.lease;
    return { remaining: [remainingRequests, remainingTokens, queueMs] };
  }
  const { id, limitKind, limit, retryAfterSeconds } = outcome;
  const windows = scopes.find((scope) => scope.id === id)?.limits.windows ?? [];
  const window = limit === 0 ? undefined : windows.find((each) => each.limit === limit);
  const kind = window === undefined ? limitKind : `${window.kind} ${window.seconds}`;
  return { refused: `${id} ${kind} ${retryAfterSeconds}` };
}

type Quantity = (charge: Pick<Charge, "requests" | "tokens">) => number;

const requestsOf: Quantity = (charge) => charge.requests;
const tokensOf: Quantity = (charge) => charge.tokens.tokens;

const QUANTITIES: Readonly<Record<DeclaredWindow["kind"], Quantity>> = {
  request: requestsOf,
  prompt: (charge) => charge.tokens.promptTokens,
  completion: (charge) => charge.tokens.completionTokens,
};

/** A claim that counts only towards its limits leaves no trace in what it does not limit. */
function isCounted(
  { limits, countsOnlyLimited = false }: ScopeClaim,
  limit: keyof LimitValues,
): boolean {
  return !countsOnlyLimited || limits[limit] !== undefined;
}

function sum(charges: readonly Charge[], of: Quantity): number {
  return charges.reduce((total, charge) => total + of(charge), 0);
}
