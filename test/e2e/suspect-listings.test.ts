import { afterEach, describe, expect, test } from "vitest";

import { ask, at, get, type Ask, type HttpAnswer } from "../support/ask.ts";
import { until } from "../support/books.ts";
import {
  simulatorManifest,
  textModel,
  withAccount,
  withGateway,
  type TestAccount,
} from "../support/gateway.ts";
import { httpCall } from "../support/http-call.ts";
import { recordVerdict } from "../support/record-verdict.ts";

const MODEL = "test/m";
const CHEAP_PATH = "/cheap/v1/chat/completions";
const ANSWERS_MIN = 5;

/** The cheat of a provider, the count that shows it, and whether the answer is streamed. */
const CHEATS: readonly (readonly [string, string, boolean])[] = [
  ["cheat:model-whole", "substituted", false],
  ["cheat:usage-missing-in-stream", "usageMissing", true],
  ["cheat:usage-cached-over-prompt", "usageImpossible", false],
  ["cheat:bound-ignored", "boundExceeded", true],
  ["reset:event:2", "unreadable", true],
];

/** Broken promises that one answer does not show and that only conformance checks find. */
const UNSEEN: readonly (readonly [string, boolean])[] = [
  ["cheat:usage-plus-10-percent", false],
  ["cheat:text-after-end-mark", true],
  ["status:503", false],
];

const modelOf = (fault: string): string => `test/${fault.replaceAll(/[:_]/g, "-")}`;

/** Two providers of one model, the first of which is tried first, and a model for each cheat. */
const MANIFESTS = [
  simulatorManifest({
    provider: "cheap",
    dialect: "wire_a",
    baseUrl: "{simulator}/cheap/v1",
    models: [textModel(MODEL)],
  }),
  simulatorManifest({
    provider: "second",
    dialect: "wire_a",
    baseUrl: "{simulator}/second/v1",
    priority: 1,
    models: [textModel(MODEL)],
  }),
  simulatorManifest({
    provider: "lab",
    dialect: "wire_a",
    models: [...CHEATS, ...UNSEEN].map(([fault]) => textModel(modelOf(fault))),
  }),
];
const gateway = withGateway({
  settings: {
    liveAnswersMin: ANSWERS_MIN,
    concurrentRequests: 100,
    orgRequestsPerMinute: 100_000,
    keyRequestsPerMinute: 100_000,
  },
  manifests: MANIFESTS,
});
const hostile = withAccount(gateway, "50.00", { requestsPerMinute: 100_000 });
const accounts = [1, 2, 3].map(() => withAccount(gateway, "50.00", { requestsPerMinute: 100_000 }));

afterEach(async () => {
  await fetch(`${gateway.simulator.url}/faults`, { method: "DELETE" });
});

async function answers(
  account: TestAccount,
  times: number,
  more: Partial<Ask> = {},
): Promise<readonly HttpAnswer[]> {
  const all: HttpAnswer[] = [];
  const asked: Ask = { key: account.key, wire: "wire_a", model: MODEL, text: "Hi", ...more };
  while (all.length < times) {
    const batch = Array.from({ length: Math.min(20, times - all.length) }, () =>
      ask(gateway.url, asked),
    );
    all.push(...(await Promise.all(batch)));
  }
  return all;
}

async function provider(): Promise<string | undefined> {
  const [account] = accounts;
  if (account === undefined) throw new Error("there are accounts");
  const [answer] = await answers(account, 1);
  expect(answer).toMatchObject({ status: 200 });
  return answer?.headers["x-tm-provider"];
}

async function verifications(): Promise<unknown> {
  const { json } = await get(gateway.url, { key: hostile.key, path: `/v1/models/${MODEL}` });
  const providers = at(json, "providers") as readonly Record<string, unknown>[];
  return providers.map((each) => at(each, "verification"));
}

async function suspectMetric(): Promise<string | undefined> {
  const { text } = await httpCall(`${gateway.running.internalUrl}/metrics`);
  return /tm_listing_suspect\{provider="cheap",model="test\/m"\} (\d)/.exec(text)?.[1];
}

function untilSuspect(value: "0" | "1") {
  const what = `the metric of the cheap listing is ${value}`;
  return until(what, async () => (await suspectMetric()) === value);
}

const UNSUSPECTED = { state: "unchecked", suspect_since: null };
const SUSPECTED = { state: "unchecked", suspect_since: expect.stringMatching(/^\d{4}-/) };

test("a provider that serves others well is not made suspect by one hostile customer", async () => {
  const [account] = accounts;
  if (account === undefined) throw new Error("there are accounts");
  await answers(account, 2 * ANSWERS_MIN);
  await answers(hostile, 2 * ANSWERS_MIN, { text: "[[fault:cheat:model-whole]]" });
  await answers(hostile, 5, { text: "[[fault:reset:event:2]]", stream: true });
  await answers(hostile, 5, { text: "[[fault:status:400]]" });
  await answers(hostile, 5, { text: "[[fault:cheat:model-whole]]" });
  expect(await gateway.backend.verdictStore.suspects()).toEqual([]);
  expect(await verifications()).toMatchObject([UNSUSPECTED, UNSUSPECTED]);
  expect(await suspectMetric()).toBe("0");
  expect(await provider()).toBe("cheap");
});

test("a provider that answers with another model is tried last until a conformance run passes", async () => {
  gateway.simulator.script({ path: CHEAP_PATH, fault: "cheat:model-whole" });
  for (const account of accounts) await answers(account, ANSWERS_MIN);

  await untilSuspect("1");
  expect(await gateway.backend.verdictStore.suspects()).toMatchObject([
    { providerId: "cheap", modelId: MODEL, breaches: { usageMissing: 0, wrongFinish: 0 } },
  ]);
  expect(await verifications()).toMatchObject([SUSPECTED, UNSUSPECTED]);
  expect(gateway.log()).toContain("live answers break what the listing promises");
  expect(await provider()).toBe("second");

  gateway.simulator.script({ path: "/second/v1/chat/completions", fault: "status:503" });
  expect(await provider()).toBe("cheap");

  await fetch(`${gateway.simulator.url}/faults`, { method: "DELETE" });
  // A run counts as earlier by the time that its record's transaction took to begin.
  await until("a run that passed ends the suspicion", async () => {
    await recordVerdict(gateway, "cheap", "pass");
    return (await gateway.backend.verdictStore.suspects()).length === 0;
  });
  await untilSuspect("0");
  expect(await provider()).toBe("cheap");
  expect(await verifications()).toMatchObject([
    { state: "verified", suspect_since: null, failed_checks: [] },
    UNSUSPECTED,
  ]);
});

describe("a promise that a provider breaks", () => {
  async function askedFor(fault: string, stream: boolean): Promise<void> {
    const text = `Please write about five hundred words. [[fault:${fault}]]`;
    const asked: Partial<Ask> = { model: modelOf(fault), text, stream, maxTokens: 32 };
    for (let n = 0; n <= ANSWERS_MIN; n += 1) await answers(hostile, 1, asked);
  }

  async function foundOf(fault: string) {
    const suspects = await gateway.backend.verdictStore.suspects();
    return suspects.find(({ modelId }) => modelId === modelOf(fault));
  }

  test.each(CHEATS)("is counted: %s as %s", async (fault, name, stream) => {
    await askedFor(fault, stream);
    const found = await until("it is suspect", () => foundOf(fault));
    const { answers: seen, ...counts } = found.breaches;
    expect(seen).toBe(ANSWERS_MIN);
    expect(Object.entries(counts).filter(([, count]) => count > 0)).toEqual([[name, ANSWERS_MIN]]);
  });

  test("does not make the listing suspect when one answer cannot prove it", async () => {
    for (const [fault, stream] of UNSEEN) await askedFor(fault, stream);
    for (const [fault] of UNSEEN) expect(await foundOf(fault)).toBeUndefined();
  });
});
