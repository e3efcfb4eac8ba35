import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { microUsd } from "../../kernel/core/money.ts";
import { findUnusualUse, type UnusualUsePolicy, type UseInWindow } from "./unusual-use.ts";

const POLICY: UnusualUsePolicy = {
  windowMs: 300_000,
  refusedRequests: 200,
  clientAddresses: 20,
  errorPercent: 80,
  requestsMin: 50,
  spendMicroUsd: microUsd(5_000_000n),
};
const NOTHING: UseInWindow = {
  servedRequests: 0,
  failedRequests: 0,
  refusedRequests: 0,
  clientAddresses: 0,
  debitMicroUsd: microUsd(0n),
};

function linesOf(use: Partial<UseInWindow>, policy: UnusualUsePolicy = POLICY): string[] {
  return (findUnusualUse(policy, { ...NOTHING, ...use }) ?? []).map((each) => each.line);
}

describe("what is unusual", () => {
  test("each line alone, when it is reached and not before", () => {
    expect(linesOf({ refusedRequests: 199 })).toEqual([]);
    expect(linesOf({ refusedRequests: 200 })).toEqual(["refused_requests"]);
    expect(linesOf({ clientAddresses: 19 })).toEqual([]);
    expect(linesOf({ clientAddresses: 20 })).toEqual(["client_addresses"]);
    expect(linesOf({ debitMicroUsd: microUsd(4_999_999n) })).toEqual([]);
    expect(linesOf({ debitMicroUsd: microUsd(5_000_000n) })).toEqual(["spend_usd"]);
    expect(linesOf({ failedRequests: 79, servedRequests: 21 })).toEqual([]);
    expect(linesOf({ failedRequests: 80, servedRequests: 20 })).toEqual(["error_percent"]);
  });

  test("a few requests that all fail say nothing: a user is trying the service", () => {
    expect(linesOf({ failedRequests: 49 })).toEqual([]);
    expect(linesOf({ failedRequests: 50 })).toEqual(["error_percent"]);
  });

  test("requests that were refused do not hide that the others fail, nor count among them", () => {
    expect(linesOf({ failedRequests: 50, refusedRequests: 150 })).toEqual(["error_percent"]);
    expect(linesOf({ failedRequests: 40, refusedRequests: 150 })).toEqual([]);
  });

  test("everything that was detected is reported, for the reviewer", () => {
    const use = { refusedRequests: 250, clientAddresses: 3, debitMicroUsd: microUsd(6_250_000n) };
    expect(findUnusualUse(POLICY, { ...NOTHING, ...use })).toEqual([
      { line: "refused_requests", seen: "250" },
      { line: "spend_usd", seen: "6.250000" },
    ]);
    expect(findUnusualUse(POLICY, { ...NOTHING, failedRequests: 60, servedRequests: 3 })).toEqual([
      { line: "error_percent", seen: "60 of 63" },
    ]);
  });
});

const count = fc.integer({ min: 0, max: 1_000 });
const line = fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: undefined });
const anyPolicy: fc.Arbitrary<UnusualUsePolicy> = fc.record({
  windowMs: fc.constant(300_000),
  refusedRequests: line,
  clientAddresses: line,
  errorPercent: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  requestsMin: fc.integer({ min: 1, max: 500 }),
  spendMicroUsd: fc.option(fc.bigInt(1n, 10_000_000n).map(microUsd), { nil: undefined }),
});
const anyUse: fc.Arbitrary<UseInWindow> = fc.record({
  servedRequests: count,
  failedRequests: count,
  refusedRequests: count,
  clientAddresses: count,
  debitMicroUsd: fc.bigInt(0n, 10_000_000n).map(microUsd),
});

describe("for any policy and any use", () => {
  test("below every line there is never a finding", () => {
    fc.assert(
      fc.property(anyPolicy, anyUse, (policy, use) => {
        const below = {
          ...use,
          refusedRequests: Math.min(use.refusedRequests, (policy.refusedRequests ?? 1e6) - 1),
          clientAddresses: Math.min(use.clientAddresses, (policy.clientAddresses ?? 1e6) - 1),
          failedRequests: 0,
          debitMicroUsd: microUsd(
            policy.spendMicroUsd === undefined || use.debitMicroUsd < policy.spendMicroUsd
              ? use.debitMicroUsd
              : policy.spendMicroUsd - 1n,
          ),
        };
        expect(findUnusualUse(policy, below)).toBeUndefined();
      }),
    );
  });

  test("a finding names at least one line, and only lines that are checked and reached", () => {
    fc.assert(
      fc.property(anyPolicy, anyUse, (policy, use) => {
        const dispatched = use.servedRequests + use.failedRequests;
        const share = dispatched === 0 ? 0 : (use.failedRequests / dispatched) * 100;
        const reached = {
          refused_requests: use.refusedRequests >= (policy.refusedRequests ?? Infinity),
          client_addresses: use.clientAddresses >= (policy.clientAddresses ?? Infinity),
          // A share of exactly the line is a matter of integers, which a quotient may miss.
          error_percent:
            dispatched >= policy.requestsMin && share >= (policy.errorPercent ?? Infinity) - 1e-9,
          spend_usd:
            policy.spendMicroUsd !== undefined && use.debitMicroUsd >= policy.spendMicroUsd,
        };
        const expected = Object.entries(reached).flatMap(([name, yes]) => (yes ? [name] : []));
        const found = findUnusualUse(policy, use);
        expect(found?.map((each) => each.line) ?? []).toEqual(expected);
        expect(found?.length).not.toBe(0);
      }),
    );
  });

  test("more of anything bad never makes a finding go away", () => {
    fc.assert(
      fc.property(anyPolicy, anyUse, anyUse, (policy, use, more) => {
        const worse = {
          servedRequests: use.servedRequests,
          failedRequests: use.failedRequests + more.failedRequests,
          refusedRequests: use.refusedRequests + more.refusedRequests,
          clientAddresses: use.clientAddresses + more.clientAddresses,
          debitMicroUsd: microUsd(use.debitMicroUsd + more.debitMicroUsd),
        };
        fc.pre(findUnusualUse(policy, use) !== undefined);
        expect(findUnusualUse(policy, worse)).toBeDefined();
      }),
    );
  });
});
