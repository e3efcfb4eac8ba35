import { expect } from "vitest";

import { at, get } from "../../support/ask.ts";
import { brokenBooks, until } from "../../support/books.ts";
import { readBooks, type JournalRow, type OrgBooks } from "./crash-books.ts";
import type { CrashFixture } from "./crash-fixture.ts";
import { CREDIT, doomedAttempts, type Scenario } from "./scenario.ts";

/** How an attempt was charged in the end. */
export type Paid =
  | "the reserve"
  | "what was used"
  | "what it reported at first"
  | "nothing"
  /** The reserve was charged at first; the difference was returned later, once. */
  | "what was used, told late"
  | "nothing, told late";

export interface Decision {
  /** How each attempt of the doomed request is charged, in order. */
  readonly pays: readonly Paid[];
  /** The number of requests that reached a provider. */
  readonly received: number;
  /** The outcome of the last attempt in the record, if the payment does not determine it. */
  readonly outcome?: string;
}

/** Checks that the journal, the wallet, the record and the provider's log agree. */
export async function expectDecided(
  fixture: CrashFixture,
  scenario: Scenario,
  decision: Decision,
): Promise<void> {
  const { backend } = fixture;
  const { account, observed, reserve } = scenario;
  const { pays, received } = decision;
  const books = await readBooks(backend, account);
  const attempts = await doomedAttempts(fixture, scenario);
  expect(attempts).toEqual(pays.map((paid) => ({ ...ANY_IDS, reserve, ...endOf(scenario, paid) })));
  const charged = attempts.reduce((sum, each) => sum + each.debit, 0n);
  expect(books).toMatchObject({ settled: CREDIT - observed - charged, held: 0n });
  // The spend counts for the key and for the organization.
  const spent = { settled: observed + charged, reserved: 0n };
  expect(books.spend).toEqual([spent, spent]);
  expect(books.transfers).toEqual([
    { kind: "settle", amount: observed },
    ...pays.flatMap((paid) => transfersOf(scenario, paid)),
  ]);
  await expectRecord(fixture, scenario, { attempts, decision });
  await expectReceived(fixture, scenario, { attempts, received });
  expect(await brokenBooks({ backend })).toEqual([]);
}

const ANY_IDS = {
  attemptId: expect.any(String) as string,
  requestId: expect.any(String) as string,
};

function endOf(scenario: Scenario, paid: Paid): Pick<JournalRow, "state" | "basis" | "debit"> {
  switch (paid) {
    case "the reserve": {
      const state = "unknown_after_crash";
      return { state, basis: state, debit: scenario.reserve };
    }
    case "what was used":
      return { state: "settled", basis: "reported", debit: scenario.observed };
    case "what it reported at first":
      return { state: "settled", basis: "partial", debit: scenario.observedAtStart };
    case "nothing":
      return { state: "void", basis: "none", debit: 0n };
    case "what was used, told late":
      return { state: "unknown_after_crash", basis: "reported", debit: scenario.observed };
    case "nothing, told late":
      return { state: "unknown_after_crash", basis: "none", debit: 0n };
    default:
      throw new Error(`unknown: ${String(paid)}`);
  }
}

function transfersOf(scenario: Scenario, paid: Paid): OrgBooks["transfers"] {
  const { observed, reserve } = scenario;
  switch (paid) {
    case "what was used, told late":
      return [
        { kind: "settle", amount: reserve },
        { kind: "refund", amount: reserve - observed },
        { kind: "correct", amount: observed },
      ];
    case "nothing, told late":
      return [
        { kind: "settle", amount: reserve },
        { kind: "refund", amount: reserve },
      ];
    case "nothing":
      return [];
    case "the reserve":
    case "what was used":
    case "what it reported at first":
      return [{ kind: "settle", amount: endOf(scenario, paid).debit }];
    default:
      throw new Error(`unknown: ${String(paid)}`);
  }
}

/** Checks the customer's record, and that all attempts belong to one request. */
async function expectRecord(
  fixture: CrashFixture,
  scenario: Scenario,
  reported: { readonly attempts: readonly JournalRow[]; readonly decision: Decision },
): Promise<void> {
  const { attempts, decision } = reported;
  const outcomes: string[] = decision.pays.map((paid) => OUTCOMES[paid]);
  if (decision.outcome !== undefined) outcomes.splice(-1, 1, decision.outcome);
  const requestIds = [...new Set(attempts.map((each) => each.requestId))];
  expect(requestIds).toHaveLength(Math.min(1, attempts.length));
  const [requestId] = requestIds;
  if (requestId === undefined) return;
  const { url } = await fixture.up();
  const path = `/v1/generation?id=${requestId}`;
  const { json } = await get(url, { key: scenario.account.key, path });
  const sum = (amounts: readonly bigint[]): number => Number(amounts.reduce((a, b) => a + b, 0n));
  expect(at(json, "data")).toMatchObject({
    outcome: outcomes.at(-1),
    cost_micro_usd: sum(attempts.map((each) => each.debit)),
    reserved_micro_usd: sum(attempts.map((each) => each.reserve)),
    attempts: attempts.map(({ debit, reserve, basis }, i) => ({
      n: i + 1,
      outcome: outcomes[i],
      settlement: basis,
      settled_cost_micro_usd: Number(debit),
      reserved_micro_usd: Number(reserve),
    })),
  });
}

const OUTCOMES: Readonly<Record<Paid, string>> = {
  "the reserve": "unknown_after_crash",
  "what was used": "completed",
  "what it reported at first": "failed",
  nothing: "failed",
  "what was used, told late": "completed",
  "nothing, told late": "failed",
};

/** Checks that every request that reached a provider has a row in the journal. */
async function expectReceived(
  fixture: CrashFixture,
  { mark }: Scenario,
  expected: { readonly attempts: readonly JournalRow[]; readonly received: number },
): Promise<void> {
  const arrived = (): ReturnType<CrashFixture["received"]> => fixture.received(mark);
  await until("the provider has it", () => arrived().length >= expected.received);
  const journaled = expected.attempts.map((each) => each.attemptId);
  const ids = arrived().map((call) => call.attemptId);
  expect(ids).toEqual(journaled.slice(0, expected.received));
}
