import { expect, test } from "vitest";

import { simulatorManifest, textModel } from "../../../test/support/gateway.ts";
import { chat } from "../../../test/support/in-process.ts";
import { openRecipe, promisesOnly, RECIPE_PRINCIPAL } from "../../../test/support/recipe.ts";
import type { AuthOutcome } from "../accounts/authenticate.ts";
import type { RequestId } from "../../kernel/core/ids.ts";
import { refusal, refused } from "../../kernel/core/refusals.ts";
import { asStoreFault } from "../../kernel/core/store-fault.ts";
import { callInProcess, type InProcessDeps, type InProcessEnd } from "./in-process.ts";
import type { CallPorts } from "./ports.ts";

const CLOCK = { nowMs: () => 1_000, monotonicMs: () => 0 };
const MANIFEST = simulatorManifest({
  provider: "only",
  dialect: "wire_a",
  baseUrl: "https://only.example/v1",
  models: [textModel("m/x")],
});
const BODY = { model: "m/x", max_tokens: 8, messages: [{ role: "user", content: "Hello" }] };

const KNOWN: AuthOutcome = { ok: true, principal: RECIPE_PRINCIPAL };

function open(change: Partial<CallPorts> = {}, outcome: AuthOutcome = KNOWN) {
  const { deps, sent } = openRecipe(CLOCK, [MANIFEST]);
  const ports = { ...deps, ...change };
  const lines: string[] = [];
  const log: InProcessDeps["log"] = {
    answered: ({ refusal: value, gone }, { status }) =>
      lines.push(`answered ${status} ${value?.class ?? "-"} ${gone ? "gone" : "there"}`),
    storeFailed: (_id: RequestId, fault) => lines.push(`store ${String(fault)}`),
    crashed: (_id: RequestId, fault) => lines.push(`crashed ${String(fault)}`),
  };
  const asked: (string | undefined)[] = [];
  const authenticate = (authorization: string | undefined): AuthOutcome => {
    asked.push(authorization);
    return outcome;
  };
  const texts: string[] = [];
  const abort = new AbortController();
  const call = (): Promise<InProcessEnd> =>
    callInProcess({ ports, authenticator: { authenticate }, log }, chat, {
      key: "the-key",
      route: "/v1/chat/completions",
      body: Buffer.from(JSON.stringify(BODY)),
      signal: abort.signal,
      onOutput: (output) => texts.push(output.toString()),
    });
  return { call, ports, sent, lines, asked, texts, abort };
}

test("an in-process answer is passed on, and its call is counted and logged like a client's", async () => {
  const { call, ports, sent, lines, asked, texts } = open();
  const ended = call();
  await promisesOnly();
  expect(ports.metrics.inFlight).toBe(1);
  const message = { role: "assistant", content: "Hi" };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  sent[0]?.answer(200, JSON.stringify({ id: "x", object: "chat.completion", choices, usage }));
  expect(await ended).toEqual({ refusal: undefined, debitMicroUsd: 0n });
  expect(texts.join("")).toContain('"content":"Hi"');
  expect(asked).toEqual(["Bearer the-key"]);
  expect(lines).toEqual(["answered 200 - there"]);
  expect(ports.metrics.inFlight).toBe(0);
  expect([...ports.metrics.requests]).toEqual([["/v1/chat/completions|200|", 1]]);
});

test("an in-process call with an invalid key sends nothing", async () => {
  const { call, sent, lines } = open({}, refused(refusal("auth", "no such key")));
  expect((await call()).refusal).toMatchObject({ class: "auth", status: 401 });
  expect(sent).toEqual([]);
  expect(lines).toEqual(["answered 401 auth there"]);
});

const AWAY = new Error("away");
asStoreFault(AWAY);

test.each([
  ["a store that does not answer", AWAY, 503, "store"],
  ["an internal fault", new Error("a bug"), 500, "crashed"],
])(
  "%s ends an in-process call with the refusal that HTTP would give, and is logged",
  async (_name, fault, status, logged) => {
    const { deps } = openRecipe(CLOCK, [MANIFEST]);
    const ledger = { ...deps.ledger, reserve: () => Promise.reject(fault) };
    const { call, lines, ports } = open({ ledger });
    const { refusal: value, debitMicroUsd } = await call();
    expect(value).toMatchObject({ class: "gateway_error", status });
    expect(debitMicroUsd).toBe(0n);
    expect(lines).toEqual([`${logged} ${String(fault)}`, `answered ${status} gateway_error there`]);
    expect(ports.metrics.inFlight).toBe(0);
  },
);

test("an in-process caller who aborts counts as a client who left", async () => {
  const { call, sent, lines, texts, abort, ports } = open();
  const ended = call();
  await promisesOnly();
  abort.abort();
  expect(ports.drains.active).toBe(1);
  sent[0]?.answer(200, "{}");
  await ended;
  expect(texts).toEqual([]);
  expect(lines).toEqual([expect.stringMatching(/^answered 0 .* gone$/)]);
});
