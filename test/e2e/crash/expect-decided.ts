import { expect } from "vitest";

import { at, get } from "../../support/ask.ts";
import { brokenBooks, until } from "../../support/books.ts";
import { readBooks, type JournalRow, type OrgBooks } from "./crash-books.ts";
import type { CrashFixture } from "./crash-fixture.ts";
import { CREDIT, doomedAttempts, type Scenario } from "./scenario.ts";

/** The fate of an attempt in the end. */
export type Paid =
  | "the reserve"
  | "what was used"
  | "what it reported at first"
  | "nothing"
  /** The reserve at first; then the difference was returned, once. */
  | "what was used, told late"
  | "nothing, told late";

export interface Decision {
  /** For each attempt of the doomed request, in order. */
  readonly pays: readonly Paid[];
  /** How many requests reached a provider. */
  readonly received: number;
  /** How the record names the end, where the payment does not show it. */
  readonly outcome?: string;
}

/** The journal, the wallet, the record and the provider's log agree on the decision. */
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
  // By the count of the organization and by the key's.
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

/** The customer's record of the request, and that it was one request. */
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

/** Nothing reached a provider without a row in the journal. */
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
