import { expect } from "vitest";

import { ask, at, bodyOf, costOf, get, type Ask, type Wire } from "../../support/ask.ts";
import { brokenBooks, until } from "../../support/books.ts";
import type { TestAccount } from "../../support/gateway.ts";
import { readBooks, type AttemptState, type JournalRow, type OrgBooks } from "./crash-books.ts";
import type { CrashFixture } from "./crash-fixture.ts";

/** A customer's request. */
export interface Asked {
  readonly wire: Wire;
  readonly stream?: boolean;
  /** Default: a model that a single provider serves, on the wire of the request. */
  readonly model?: string;
}

/** One customer with a request that was served, and an equal one that will not be served. */
export interface Scenario {
  readonly account: TestAccount;
  readonly doomed: Ask;
  /** A mark that only the text of the doomed request contains. */
  readonly mark: string;
  readonly servedId: string;
  /** Micro-dollars that the served request cost. */
  readonly observed: bigint;
  /** The cost of the prompt and one output token, which wire_b reports before any text. */
  readonly observedAtStart: bigint;
  /** The most that the doomed request may cost: a micro-dollar per byte, ten per output token. */
  readonly reserve: bigint;
}

/** The first credit of every customer of these tests, in micro-dollars. */
export const CREDIT = 1_000_000n;
const OUTPUT_TOKENS = 64n;
const MICRO_USD_PER_PROMPT_TOKEN = 1n;
const MICRO_USD_PER_OUTPUT_TOKEN = 10n;
let opened = 0;

export async function openScenario(fixture: CrashFixture, asked: Asked): Promise<Scenario> {
  const { url } = await fixture.up();
  const account = await fixture.account();
  const number = String(++opened).padStart(4, "0");
  const request = (word: string): Ask => ({
    key: account.key,
    wire: asked.wire,
    model: asked.model ?? (asked.wire === "wire_a" ? "test/a" : "test/b"),
    stream: asked.stream ?? false,
    text: `${word}-${number} [words:12]`,
  });
  // A very busy machine may answer 503 at first.
  const warm = await until("the first request is served", async () => {
    const answer = await ask(url, request("warmed"));
    return answer.status === 200 ? answer : undefined;
  });
  const path = `/v1/generation?id=${warm.requestId}`;
  const record = (await get(url, { key: account.key, path })).json;
  const observed = costOf(warm) ?? 0n;
  expect(observed).toBeGreaterThan(0n);
  const doomed = request("doomed");
  return {
    account,
    doomed,
    mark: `doomed-${number}`,
    servedId: warm.requestId,
    observed,
    observedAtStart:
      BigInt(String(at(record, "data", "usage", "prompt"))) * MICRO_USD_PER_PROMPT_TOKEN +
      MICRO_USD_PER_OUTPUT_TOKEN,
    reserve: BigInt(Buffer.byteLength(bodyOf(doomed))) + OUTPUT_TOKENS * MICRO_USD_PER_OUTPUT_TOKEN,
  };
}

/** The doomed request's attempts, found by elimination: the ids of two instances have no order. */
export async function doomedAttempts(
  fixture: CrashFixture,
  scenario: Scenario,
): Promise<readonly JournalRow[]> {
  const { journal } = await readBooks(fixture.backend, scenario.account);
  return journal.filter((each) => each.requestId !== scenario.servedId);
}

export async function doomedStates(
  fixture: CrashFixture,
  scenario: Scenario,
): Promise<readonly AttemptState[]> {
  return (await doomedAttempts(fixture, scenario)).map((each) => each.state);
}

/** A finished scenario, with the books at that time. */
export interface Decided {
  readonly account: TestAccount;
  readonly books: OrgBooks;
}

/** Checks that the customer is served again. The returned books must not change any more. */
export async function expectServedAgain(
  fixture: CrashFixture,
  scenario: Scenario,
): Promise<Decided> {
  const { account, doomed } = scenario;
  const gateway = await fixture.up();
  const next = async () => (await ask(gateway.url, { ...doomed, text: "next" })).status;
  await until("the customer is served again", async () => (await next()) === 200);
  expect(await brokenBooks(fixture)).toEqual([]);
  return { account, books: await readBooks(fixture.backend, account) };
}

/** Checks that the books of each of these accounts are still the same. */
export async function expectUnchanged(
  fixture: CrashFixture,
  decided: readonly Decided[],
): Promise<void> {
  for (const { account, books } of decided) {
    expect(await readBooks(fixture.backend, account)).toEqual(books);
  }
}
