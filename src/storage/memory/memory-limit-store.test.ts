import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KeyId, OrgId } from "../../core/ids.ts";
import type { ClaimOutcome, LimitLease, LimitSet, ScopeClaim } from "../../limits/limit-store.ts";
import { MemoryLimitStore } from "./memory-limit-store.ts";

const START_MS = 1_000_000;

function scope(name: "key" | "org", id: string, limits: LimitSet): ScopeClaim {
  return { scope: name, id: `${name}:${id}`, limits };
}

function claimOf(scopes: readonly ScopeClaim[], tokens: number, nowMs: number) {
  return { orgId: "o" as OrgId, keyId: "k" as KeyId, scopes, tokens, nowMs };
}

function leaseOf(outcome: ClaimOutcome): LimitLease {
  if (outcome.kind !== "claimed") throw new Error(`expected a lease, got ${outcome.kind}`);
  return outcome.lease;
}

describe("claims", () => {
  test("the request over the limit is refused, and told when the first one leaves", () => {
    const store = new MemoryLimitStore();
    const scopes = [scope("key", "k", { requestsPerMinute: 2 })];
    store.claim(claimOf(scopes, 1, START_MS));
    store.claim(claimOf(scopes, 1, START_MS + 10_000));
    expect(store.claim(claimOf(scopes, 1, START_MS + 20_000))).toEqual({
      kind: "refused",
      scope: "key",
      limitKind: "rpm",
      id: "key:k",
      limit: 2,
      retryAfterSeconds: 41,
    });
    expect(store.claim(claimOf(scopes, 1, START_MS + 60_999)).kind).toBe("refused");
    expect(store.claim(claimOf(scopes, 1, START_MS + 61_000)).kind).toBe("claimed");
  });

  test("a refusal in one scope leaves no trace in the others", () => {
    const store = new MemoryLimitStore();
    const key = scope("key", "k", { requestsPerMinute: 100, tokensPerMinute: 100, concurrent: 9 });
    const full = scope("org", "o", { requestsPerMinute: 0 });
    const free = scope("org", "p", {});
    for (let n = 0; n < 50; n += 1) store.claim(claimOf([key, full], 10, START_MS));
    const lease = leaseOf(store.claim(claimOf([key, free], 10, START_MS)));
    expect(lease).toMatchObject({ remainingRequests: 99, remainingTokens: 90 });
  });

  test("when several scopes refuse, the first one listed is named", () => {
    const store = new MemoryLimitStore();
    const scopes = [
      scope("key", "k", { tokensPerMinute: 5 }),
      scope("org", "o", { requestsPerMinute: 0 }),
    ];
    expect(store.claim(claimOf(scopes, 6, START_MS))).toMatchObject({
      scope: "key",
      limitKind: "tpm",
    });
  });

  test("a claim larger than the whole token limit is refused as tpm, with the longest wait", () => {
    const store = new MemoryLimitStore();
    const scopes = [scope("key", "k", { tokensPerMinute: 1_000 })];
    expect(store.claim(claimOf(scopes, 1_001, START_MS))).toMatchObject({
      kind: "refused",
      limitKind: "tpm",
      limit: 1_000,
      retryAfterSeconds: 60,
    });
  });

  test("concurrency is a lease: it comes back with release or undo", () => {
    const store = new MemoryLimitStore();
    const scopes = [scope("org", "o", { concurrent: 2 })];
    const first = leaseOf(store.claim(claimOf(scopes, 1, START_MS)));
    const second = leaseOf(store.claim(claimOf(scopes, 1, START_MS)));
    expect(store.claim(claimOf(scopes, 1, START_MS))).toMatchObject({
      limitKind: "concurrency",
      limit: 2,
      retryAfterSeconds: 1,
    });
    store.release(first, 1, START_MS);
    const third = leaseOf(store.claim(claimOf(scopes, 1, START_MS)));
    store.undo(second, START_MS);
    store.undo(third, START_MS);
    expect(store.claim(claimOf(scopes, 1, START_MS)).kind).toBe("claimed");
  });

  test("release replaces the estimate by what was observed", () => {
    const store = new MemoryLimitStore();
    const scopes = [scope("key", "k", { tokensPerMinute: 1_000 })];
    const lease = leaseOf(store.claim(claimOf(scopes, 900, START_MS)));
    expect(store.claim(claimOf(scopes, 200, START_MS)).kind).toBe("refused");
    store.release(lease, 100, START_MS + 5_000);
    const next = leaseOf(store.claim(claimOf(scopes, 200, START_MS + 5_000)));
    expect(next.remainingTokens).toBe(700);
  });

  test("the remaining amounts are the smallest over the scopes, this request included", () => {
    const store = new MemoryLimitStore();
    const scopes = [
      scope("key", "k", { requestsPerMinute: 3, tokensPerMinute: 500 }),
      scope("org", "o", { requestsPerMinute: 9, tokensPerMinute: 300 }),
    ];
    const lease = leaseOf(store.claim(claimOf(scopes, 100, START_MS)));
    expect(lease).toMatchObject({ remainingRequests: 2, remainingTokens: 200 });
  });

  test("an exempt request neither counts nor is refused by requests per minute", () => {
    const store = new MemoryLimitStore();
    const limits = { requestsPerMinute: 1, concurrent: 8 };
    const exempt = [{ ...scope("org", "o", limits), countsRequests: false }];
    const counted = [scope("org", "o", limits)];
    store.undo(leaseOf(store.claim(claimOf(exempt, 1, START_MS))), START_MS);
    store.claim(claimOf(exempt, 1, START_MS));
    expect(store.claim(claimOf(counted, 1, START_MS)).kind).toBe("claimed");
    expect(store.claim(claimOf(counted, 1, START_MS))).toMatchObject({ limitKind: "rpm" });
    expect(store.claim(claimOf(exempt, 1, START_MS)).kind).toBe("claimed");
  });

  test("a lease handed back twice is a broken promise, not a second slot", () => {
    const store = new MemoryLimitStore();
    const lease = leaseOf(store.claim(claimOf([scope("key", "k", {})], 1, START_MS)));
    store.release(lease, 1, START_MS);
    expect(() => store.undo(lease, START_MS)).toThrow("exactly once");
  });
});

describe("memory", () => {
  test("of 40,000 organizations, each used once, only those of the last minute or so are kept", () => {
    const store = new MemoryLimitStore();
    const perSecond = 100;
    for (let n = 0; n < 40_000; n += 1) {
      const nowMs = START_MS + Math.floor(n / perSecond) * 1_000;
      const scopes = [scope("org", String(n), { requestsPerMinute: 1 })];
      store.release(leaseOf(store.claim(claimOf(scopes, 1, nowMs))), 1, nowMs);
    }
    expect(store.scopeCount).toBeLessThan(perSecond * 61 * 2);
  });

  test("a scope with a request in flight is never forgotten", () => {
    const store = new MemoryLimitStore();
    const scopes = [scope("org", "busy", { concurrent: 1 })];
    store.claim(claimOf(scopes, 1, START_MS));
    for (let n = 0; n < 5_000; n += 1) {
      store.claim(claimOf([scope("org", String(n), {})], 1, START_MS + 100_000 + n * 100));
    }
    expect(store.claim(claimOf(scopes, 1, START_MS + 900_000)).kind).toBe("refused");
  });
});

/* The oracle: every charge in a list, every question answered by adding up. */
interface Charge {
  readonly second: number;
  readonly atMs: number;
  requests: number;
  tokens: number;
  inFlight: number;
}

interface ModelScope {
  readonly claim: ScopeClaim;
  readonly charges: Charge[];
}

const LIMITS: LimitSet = { requestsPerMinute: 6, tokensPerMinute: 100, concurrent: 3 };
const ORG_LIMITS: LimitSet = { requestsPerMinute: 9, tokensPerMinute: 150, concurrent: 4 };

function modelRefusal(model: ModelScope, tokens: number, second: number): string | undefined {
  const { requestsPerMinute = 0, tokensPerMinute = 0, concurrent = 0 } = model.claim.limits;
  const inside = (at: number) => model.charges.filter((charge) => at - charge.second <= 60);
  const wait = (fits: (charges: readonly Charge[]) => boolean) => {
    for (let ahead = 1; ahead < 60; ahead += 1) if (fits(inside(second + ahead))) return ahead;
    return 60;
  };
  const requestsFit = (charges: readonly Charge[]) =>
    charges.reduce((sum, charge) => sum + charge.requests, 1) <= requestsPerMinute;
  const tokensFit = (charges: readonly Charge[]) =>
    charges.reduce((sum, charge) => sum + charge.tokens, tokens) <= tokensPerMinute;
  const inFlight = model.charges.reduce((sum, charge) => sum + charge.inFlight, 0);
  if (!requestsFit(inside(second))) return `${model.claim.id} rpm ${wait(requestsFit)}`;
  if (!tokensFit(inside(second))) return `${model.claim.id} tpm ${wait(tokensFit)}`;
  if (inFlight >= concurrent) return `${model.claim.id} concurrency 1`;
  return undefined;
}

interface Operation {
  readonly verb: "claim" | "release" | "undo";
  readonly waitMs: number;
  readonly key: number;
  readonly tokens: number;
  readonly pick: number;
}

/** The store and the model side by side; `answers` and `expected` must come out alike. */
class SideBySide {
  readonly store = new MemoryLimitStore();
  readonly org: ModelScope = { claim: scope("org", "o", ORG_LIMITS), charges: [] };
  readonly keys: readonly ModelScope[] = ["a", "b", "c"].map((id) => ({
    claim: scope("key", id, LIMITS),
    charges: [],
  }));
  readonly answers: (string | undefined)[] = [];
  readonly expected: (string | undefined)[] = [];
  private readonly open: { lease: LimitLease; charges: Charge[] }[] = [];
  private nowMs = START_MS;

  play(operation: Operation): void {
    this.nowMs += operation.waitMs;
    if (operation.verb === "claim") this.claim(operation);
    else this.handBack(operation);
  }

  private claim({ key, tokens }: Operation): void {
    const models = [this.keys[key] ?? this.org, this.org];
    const second = Math.floor(this.nowMs / 1000);
    this.expected.push(
      models.map((model) => modelRefusal(model, tokens, second)).find((text) => text !== undefined),
    );
    const scopes = models.map((model) => model.claim);
    const outcome = this.store.claim(claimOf(scopes, tokens, this.nowMs));
    this.answers.push(
      outcome.kind === "refused"
        ? `${outcome.id} ${outcome.limitKind} ${outcome.retryAfterSeconds}`
        : undefined,
    );
    if (outcome.kind !== "claimed") return;
    const charges = models.map(() => ({
      second,
      atMs: this.nowMs,
      requests: 1,
      tokens,
      inFlight: 1,
    }));
    models.forEach((model, index) => model.charges.push(...charges.slice(index, index + 1)));
    this.open.push({ lease: outcome.lease, charges });
  }

  private handBack({ verb, tokens, pick }: Operation): void {
    const [taken] = this.open.splice(pick % Math.max(1, this.open.length), 1);
    if (taken === undefined) return;
    const second = Math.floor(this.nowMs / 1000);
    for (const charge of taken.charges) {
      charge.inFlight = 0;
      if (second - charge.second > 60) continue;
      charge.tokens = verb === "undo" ? 0 : tokens;
      if (verb === "undo") charge.requests = 0;
    }
    if (verb === "undo") this.store.undo(taken.lease, this.nowMs);
    else this.store.release(taken.lease, tokens, this.nowMs);
  }
}

const anOperation: fc.Arbitrary<Operation> = fc.record({
  verb: fc.constantFrom("claim", "claim", "claim", "release", "undo"),
  waitMs: fc.oneof(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 25_000 })),
  key: fc.integer({ min: 0, max: 2 }),
  tokens: fc.integer({ min: 0, max: 120 }),
  pick: fc.nat(),
});

describe("against a model that keeps every charge in a list", () => {
  test("any history of claims, releases and undos gives the same answers", () => {
    const histories = fc.array(anOperation, { maxLength: 80 });
    fc.assert(
      fc.property(histories, (operations) => {
        const both = new SideBySide();
        for (const operation of operations) both.play(operation);
        expect(both.answers).toEqual(both.expected);
        for (const model of [...both.keys, both.org]) {
          const limit = model.claim.limits.requestsPerMinute;
          expect(mostInAnyMinute(model)).toBeLessThanOrEqual(limit ?? 0);
        }
      }),
      { numRuns: 500 },
    );
  });
});

/* Stated in milliseconds, as a customer would: the most that was admitted in any 60 seconds. */
function mostInAnyMinute({ charges }: ModelScope): number {
  const from = (startMs: number) =>
    charges
      .filter((charge) => charge.atMs >= startMs && charge.atMs < startMs + 60_000)
      .reduce((sum, charge) => sum + charge.requests, 0);
  return Math.max(0, ...charges.map((charge) => from(charge.atMs)));
}
