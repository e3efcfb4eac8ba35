import { describe, expect, test, vi } from "vitest";

import { isVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { assert } from "../../src/kernel/core/assert.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { type Clock, systemClock } from "../../src/kernel/core/time.ts";
import type { ModelCaller } from "../../src/account/optimize/model-caller.ts";
import { OptimizeRuns, type OptimizeSearches } from "../../src/account/optimize/open-optimize.ts";
import type {
  OptimizeSearch,
  WantedSearch,
} from "../../src/account/optimize/postgres-optimize-store.ts";
import { everyStoredText } from "../e2e/console/every-stored-text.ts";
import { dollars, openAccount, withGateway } from "../support/gateway.ts";
import { withInProcessCalls } from "../support/in-process.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

const SECRET_PROMPT = "zanzibar-prompt-4711";
const END_WAIT_MS = 30_000;
const JUDGED = { objective: "best_judged", judgeModelId: "test/both" } as const;
const SLOW = { prompts: ["one", "two", "three"].map((each) => `${each} [[fault:slow:60000]]`) };

const gateway = withGateway();
const caller = withInProcessCalls(() => gateway);
const searches = withResource(() => opened());

function opened(by: ModelCaller = caller, clock: Clock = systemClock): OptimizeSearches {
  return new OptimizeRuns({
    store: gateway.backend.optimizeStore,
    clock,
    log: silentLog,
    caller: by,
    isFunded: async (orgId) =>
      (await gateway.backend.accountStore.findOrg(orgId))?.isFunded === true,
    isChatModel: (modelId) => modelId.startsWith("test/"),
    callGapMs: 0,
    quote: caller.quote,
  });
}

function wanted(change: Partial<WantedSearch> = {}): WantedSearch {
  return {
    name: "which is cheaper",
    objective: "lowest_cost",
    judgeModelId: null,
    modelIds: ["test/a", "test/b"],
    prompts: ["first [words:5]", "second", "third [words:9]"].map(
      (each) => `${each} ${SECRET_PROMPT}`,
    ),
    maxTokens: 64,
    budgetMicroUsd: dollars("1.00"),
    ...change,
  };
}

async function started(
  orgId: OrgId,
  change: Partial<WantedSearch> = {},
  by: OptimizeSearches = searches,
): Promise<OptimizeSearch> {
  const outcome = await by.start(orgId, wanted(change), testOperator);
  if (outcome.kind === "refused") throw new Error(outcome.message);
  return outcome.search;
}

async function ended(orgId: OrgId, { searchId }: OptimizeSearch): Promise<OptimizeSearch> {
  return await vi.waitFor(
    async () => {
      const search = await searches.find(orgId, searchId);
      if (search === undefined || search.state === "running") throw new Error("still running");
      return search;
    },
    { timeout: END_WAIT_MS, interval: 50 },
  );
}

async function keyIsDisabled(orgId: OrgId, search: OptimizeSearch): Promise<boolean> {
  const keys = await gateway.backend.accountStore.listKeys(orgId);
  return keys.find((key) => key.keyId === search.keyId)?.disabledAtMs !== null;
}

async function newOrg(usd = "5.00"): Promise<OrgId> {
  return (await openAccount(gateway.backend, usd)).orgId;
}

describe("a search", () => {
  test("sends every prompt to every model, reports the debits as spent, and stores no prompt, answer or key", async () => {
    const orgId = await newOrg();
    const search = await ended(orgId, await started(orgId));
    expect(search).toMatchObject({ state: "finished", callsDone: 6, callsPlanned: 6 });
    expect(search.results.map((each) => [each.modelId, each.calls, each.failed])).toEqual([
      ["test/a", 3, 0],
      ["test/b", 3, 0],
    ]);
    const total = search.results.reduce((sum, each) => sum + each.costMicroUsd, 0n);
    expect(total).toBeGreaterThan(0n);
    expect(search.spentMicroUsd).toBe(total);
    const balance = await gateway.backend.recordStore.balance(orgId);
    expect(balance).toEqual({ settledMicroUsd: dollars("5.00") - total, heldMicroUsd: 0n });
    expect(new Set(search.results.map((each) => each.rank))).toEqual(new Set([1, 2]));
    expect(search.results.every((each) => each.firstByteP50Ms !== null)).toBe(true);
    expect(await keyIsDisabled(orgId, search)).toBe(true);

    const last = await (await fetch(`${gateway.simulator.url}/calls/last`)).text();
    expect(last).toContain(SECRET_PROMPT);
    const tables = await everyStoredText(gateway.config.databaseUrl);
    expect(tables).toContain(search.searchId);
    expect(tables).not.toContain(SECRET_PROMPT);
    expect(tables).not.toContain("You said");
    expect(tables.split(/[^a-z0-9_]+/).filter(isVirtualKey)).toEqual([]);
  });

  test("includes the judge's calls in its spend, and counts an unclear verdict for no model", async () => {
    const orgId = await newOrg();
    // The simulated judge only repeats the question, so its reply names no winner.
    const search = await ended(orgId, await started(orgId, JUDGED));
    expect(search).toMatchObject({ state: "finished", callsDone: 9, callsPlanned: 9 });
    expect(search.results.map((each) => each.winRate)).toEqual([null, null]);
    const candidates = search.results.reduce((sum, each) => sum + each.costMicroUsd, 0n);
    expect(search.spentMicroUsd).toBeGreaterThan(candidates);
  });

  test("counts the failed calls of each model, and still finishes", async () => {
    const orgId = await newOrg();
    const fault = { model: "test/a", fault: "status:400", times: 2 };
    await fetch(`${gateway.simulator.url}/faults`, { method: "POST", body: JSON.stringify(fault) });
    const cut = { prompts: ["x [[fault:no_terminal]]", "y", "z"] };
    const search = await ended(orgId, await started(orgId, cut));
    const [a, b] = search.results;
    expect(a?.failed).toBeGreaterThanOrEqual(2);
    expect(b?.failed).toBe(1);
    expect(search.state).toBe("finished");
    await fetch(`${gateway.simulator.url}/faults`, { method: "DELETE" });
  });

  test("ends when its budget does not cover the next call, and never exceeds it", async () => {
    const orgId = await newOrg();
    // One call costs up to $0.00064 for 64 tokens of output, plus its prompt.
    const search = await ended(orgId, await started(orgId, { budgetMicroUsd: dollars("0.0009") }));
    expect(search.state).toBe("over_budget");
    expect(search.callsDone).toBeGreaterThan(0);
    expect(search.spentMicroUsd).toBeGreaterThan(0n);
    expect(search.spentMicroUsd).toBeLessThanOrEqual(dollars("0.0009"));
    expect(await keyIsDisabled(orgId, search)).toBe(true);
  });

  test("ends when its calls last into the next UTC month, in which its key has a new cap", async () => {
    const orgId = await newOrg();
    let nowMs = Date.parse("2026-11-30T23:57:00Z");
    let calls = 0;
    const ask: ModelCaller["ask"] = () => {
      calls += 1;
      nowMs = Date.parse("2026-12-01T00:01:00Z");
      const answered = { isAnswered: true, text: "yes", firstByteMs: 1, totalMs: 2 };
      return Promise.resolve({ kind: "ended", costMicroUsd: dollars("0.000001"), ...answered });
    };
    const other = opened({ ask }, { ...systemClock, nowMs: () => nowMs });
    const search = await ended(orgId, await started(orgId, {}, other));
    expect(search).toMatchObject({ state: "interrupted", callsPlanned: 6 });
    expect(calls).toBe(1);
    await other.close();
  });

  test("fails with the advice to add credit when the balance does not cover a call", async () => {
    const orgId = await newOrg("0.0001");
    const search = await ended(orgId, await started(orgId));
    expect(search).toMatchObject({ state: "failed", callsDone: 0, spentMicroUsd: 0n });
    expect(search.message).toMatch(/add credit/);
  });

  test("is refused as the third of its organization, and stays stopped once its own organization stopped it, in any process", async () => {
    const [orgId, otherId] = [await newOrg(), await newOrg()];
    const other = opened();
    const first = await started(orgId, SLOW);
    const search = await started(orgId, SLOW);
    expect(await searches.start(orgId, wanted(), testOperator)).toMatchObject({ code: "conflict" });
    expect(await other.stop(otherId, search.searchId, testOperator)).toBeUndefined();
    expect(await other.find(otherId, search.searchId)).toBeUndefined();
    expect(await other.find(orgId, search.searchId)).toMatchObject({ state: "running" });
    const stopped = await other.stop(orgId, search.searchId, testOperator);
    expect(stopped).toMatchObject({ state: "stopped", callsPlanned: 6 });
    expect(await keyIsDisabled(orgId, search)).toBe(true);
    expect(await searches.stop(orgId, search.searchId, testOperator)).toEqual(stopped);
    await other.close();
    expect(await searches.find(orgId, search.searchId)).toEqual(stopped);
    await searches.stop(orgId, first.searchId, testOperator);
    expect((await searches.list(orgId)).map(({ state }) => state)).toEqual(["stopped", "stopped"]);
  });

  test("waits when a limit refuses a call, and then finishes without a failed call", async () => {
    const orgId = await newOrg();
    const target = { source: "contract", scope: "org" } as const;
    await gateway.backend.rulesStore.changeLimit(orgId, target, { concurrent: 1 }, testOperator);
    const prompts = ["one [[fault:slow:20]]"];
    const search = await ended(orgId, await started(orgId, { prompts }));
    expect(search).toMatchObject({ state: "finished", callsDone: 2 });
    expect(search.results.map((each) => each.failed)).toEqual([0, 0]);
  });
});

test("the model whose answers the judge prefers wins, in whatever order the judge gets the answers", async () => {
  const orgId = await newOrg();
  // Replaces the models: the judge always prefers the answer of test/b.
  const other = opened({
    ask: ({ modelId, prompt }) => {
      const letter = /answer ([A-H])\]\]\nby test\/b/.exec(prompt)?.[1];
      const text = letter === undefined ? `by ${modelId}` : `**${letter}**`;
      const costMicroUsd = dollars("0.000001");
      const answered = { isAnswered: true, text, costMicroUsd, firstByteMs: 1, totalMs: 2 };
      return Promise.resolve({ kind: "ended", ...answered });
    },
  });
  const search = await ended(orgId, await started(orgId, JUDGED, other));
  expect(search.results.map((each) => [each.modelId, each.winRate, each.rank])).toEqual([
    ["test/a", 0, 2],
    ["test/b", 1, 1],
  ]);
  // The person who started the search can check the answers and the winner.
  const fed = other.answers(orgId, search.searchId, { after: 0, by: testOperator });
  const won = fed?.events.filter(({ kind }) => kind === "verdict");
  expect(won?.map(({ promptAt }) => promptAt).toSorted()).toEqual([0, 1, 2]);
  expect(new Set(won?.map((each) => "winner" in each && each.winner))).toEqual(new Set(["test/b"]));
  await other.close();
  expect(other.answers(orgId, search.searchId, { after: 0, by: testOperator })).toBeUndefined();
});

test.each<[string, Partial<WantedSearch>, object]>([
  ["an unknown model", { modelIds: ["test/a", "no/model"] }, { field: "models" }],
  ["a missing judge", { objective: "best_judged" }, { field: "judge_model" }],
  ["no budget", { budgetMicroUsd: dollars("0") }, { field: "budget_usd" }],
])("a search is refused for %s", async (_what, change, refusal) => {
  const refused = await searches.start(await newOrg(), wanted(change), testOperator);
  expect(refused).toMatchObject({ kind: "refused", code: "invalid_request", ...refusal });
});

describe("a process that runs searches", () => {
  test("interrupts its searches at shutdown, and disables their keys", async () => {
    const orgId = await newOrg();
    const other = opened();
    const search = await started(orgId, SLOW, other);
    await other.close();
    expect((await searches.find(orgId, search.searchId))?.state).toBe("interrupted");
    expect(await keyIsDisabled(orgId, search)).toBe(true);
  });

  test("keeps half of its searches for organizations with credit, while those of others wait for hours", async () => {
    const other = opened({ ask: () => Promise.resolve({ kind: "wait", waitMs: 60_000 }) });
    const unfunded = async (): Promise<OrgId> => (await openAccount(gateway.backend, "0")).orgId;
    const [last, ...orgs] = await Promise.all(Array.from({ length: 6 }, unfunded));
    await Promise.all([...orgs, ...orgs].map(async (orgId) => started(orgId, {}, other)));
    assert(last !== undefined, "six organizations were made");
    const ask = (orgId: OrgId) => other.start(orgId, wanted(), testOperator);
    expect(await ask(last)).toMatchObject({ kind: "refused", code: "unavailable" });
    expect(await ask(await newOrg())).toMatchObject({ kind: "started" });
    const [first] = await other.list(orgs[0] as OrgId);
    await other.stop(orgs[0] as OrgId, first?.searchId ?? "", testOperator);
    await expect.poll(async () => await ask(last)).toMatchObject({ kind: "started" });
    await other.close();
  });

  test("fails a search when the gateway does not answer", async () => {
    const orgId = await newOrg();
    const other = opened({ ask: () => Promise.resolve({ kind: "unreachable" }) });
    const search = await ended(orgId, await started(orgId, {}, other));
    expect(search).toMatchObject({ state: "failed", message: "the gateway did not answer" });
    await other.close();
  });
});
