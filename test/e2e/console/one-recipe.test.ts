import { beforeAll, describe, expect, test } from "vitest";

import { createVirtualKey } from "../../../src/gateway/accounts/authenticate.ts";
import { assert } from "../../../src/kernel/core/assert.ts";
import type { KeyId, OrgId } from "../../../src/kernel/core/ids.ts";
import { microUsd, type MicroUsd } from "../../../src/kernel/core/money.ts";
import type { ReportedRequest } from "../../../src/gateway/records/request-pages.ts";
import { addKey } from "../../support/add-key.ts";
import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { dollars, grantCredit, openAccount } from "../../support/gateway.ts";
import { at, bearer, httpCall, listAt, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { withInProcessCalls } from "../../support/in-process.ts";
import { testOperator } from "../../support/test-operator.ts";
import { newcomer, runSearch, withPerson, withProviderConsole } from "./provider-fixture.ts";

const REFUSALS = 3;
/** The fields of the key with which an Optimize search makes its calls. */
const SEARCHING = { name: "search", origin: "optimize", requestsPerMinuteCeiling: 60 } as const;
const ROUTE = "/v1/chat/completions";
const installation = withProviderConsole({
  settings: { refusalsPerMinute: REFUSALS, optimizeCallGapMs: 0 },
});
const inside = withInProcessCalls(() => installation.gateway);

/** The outcome of a call, as its caller sees it. */
interface Seen {
  readonly status: number;
  readonly refused: string | undefined;
  readonly scope: string | undefined;
  readonly kind: string | undefined;
  readonly debitMicroUsd: bigint;
}

/** An organization with a new key, and the way in which it makes calls. */
interface Caller {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  ask(body: object): Promise<Seen>;
}

const WAYS: Readonly<Record<string, (usd: string) => Promise<Caller>>> = {
  "the listener": async (usd) => {
    const { orgId, keyId, key } = await openAccount(installation.gateway.backend, usd);
    const headers = bearer(key);
    const ask = async (body: object): Promise<Seen> =>
      seen(await httpCall(`${installation.gateway.url}${ROUTE}`, { body, headers }));
    return { orgId, keyId: keyId as KeyId, ask };
  },
  "the playground": async (usd) => {
    const person = await installation.signIn(newcomer(`person-${++people}`));
    const { orgId } = person;
    if (dollars(usd) > 0n) await grantCredit(installation.gateway.backend, orgId, usd);
    const keyId = await installation.gateway.backend.accountStore.playgroundKey(orgId);
    const ask = async (body: object): Promise<Seen> =>
      seen(await person.ask(`POST /playground${ROUTE}`, { body }));
    return { orgId, keyId, ask };
  },
  "a search, in process": async (usd) => {
    const { orgId } = await openAccount(installation.gateway.backend, usd);
    const { backend } = installation.gateway;
    const { keyId, key } = await addKey(backend, orgId, SEARCHING);
    return { orgId, keyId, ask: (body) => askInside(key, body) };
  },
};
let people = 0;

async function askInside(key: string, body: object): Promise<Seen> {
  const { refusal, debitMicroUsd } = await inside.call({
    key,
    route: ROUTE,
    body: Buffer.from(JSON.stringify(body)),
    signal: new AbortController().signal,
    onOutput: () => undefined,
  });
  return {
    status: refusal?.status ?? 200,
    refused: refusal?.class,
    scope: refusal?.limit?.scope,
    kind: refusal?.limit?.kind,
    debitMicroUsd,
  };
}

function seen({ status, headers, text }: HttpAnswer): Seen {
  const header = (name: string): string | undefined => headers[name]?.toString();
  const cost = /"cost":([0-9.]+)/.exec(text)?.[1];
  return {
    status,
    refused: header("x-tm-error-code"),
    scope: header("x-tm-limit-scope"),
    kind: header("x-tm-limit-kind"),
    debitMicroUsd: cost === undefined ? 0n : dollars(cost),
  };
}

/** The journal of an organization's answered calls, newest first. */
async function journal({ orgId }: Pick<Caller, "orgId">): Promise<readonly ReportedRequest[]> {
  const { recordStore } = installation.gateway.backend;
  await until(
    "nothing is held",
    async () => (await recordStore.balance(orgId)).heldMicroUsd === 0n,
  );
  return (await recordStore.usagePage({ orgId, limit: 10 })).rows;
}

const SERVED = { status: 200, refused: undefined, scope: undefined, kind: undefined };
const NOTHING = { debitMicroUsd: 0n };
const CHAT = chatBody("test/both", { stream: true });

describe.each(Object.entries(WAYS))("a call by %s", (_way, open) => {
  test("reports the debit that the journal has", async () => {
    const caller = await open("5.00");
    const answer = await caller.ask(CHAT);
    expect(answer).toMatchObject(SERVED);
    expect(answer.debitMicroUsd).toBeGreaterThan(0n);
    expect(await journal(caller)).toMatchObject([
      { route: ROUTE, providerId: "prov-a", debitMicroUsd: answer.debitMicroUsd },
    ]);
  });

  test("is refused without credit, over the cap of its key or organization, and over its key's limit", async () => {
    const { accountStore, rulesStore } = installation.gateway.backend;
    const [poor, byKey, byOrg] = [await open("0"), await open("5.00"), await open("5.00")];
    const caps = { month: microUsd(1n) };
    await accountStore.editKeys("anyone", [byKey.keyId], { caps }, testOperator);
    await accountStore.setOrgCap(byOrg.orgId, microUsd(1n), testOperator);
    const refused = { status: 429, refused: "insufficient_quota", ...NOTHING };
    expect(await poor.ask(CHAT)).toMatchObject(refused);
    expect(await byKey.ask(CHAT)).toEqual({ ...refused, kind: "spend", scope: "key" });
    expect(await byOrg.ask(CHAT)).toEqual({ ...refused, kind: "spend", scope: "org" });
    for (const caller of [poor, byKey, byOrg]) expect(await journal(caller)).toEqual([]);

    const slow = await open("5.00");
    const target = { source: "contract", scope: "key", keyId: slow.keyId } as const;
    await rulesStore.changeLimit(slow.orgId, target, { requestsPerMinute: 1 }, testOperator);
    expect(await slow.ask(CHAT)).toMatchObject(SERVED);
    const limited = { status: 429, refused: "rate_limit", scope: "key", kind: "rpm", ...NOTHING };
    expect(await slow.ask(CHAT)).toEqual(limited);
    expect(await journal(slow)).toHaveLength(1);
  });

  test("is refused with rate_limit before its body is checked, after too many refused requests", async () => {
    const caller = await open("5.00");
    for (let n = 0; n < REFUSALS; n += 1) {
      expect(await caller.ask({})).toMatchObject({ status: 400, refused: "invalid_request" });
    }
    await until("the window is full", async () => (await caller.ask(CHAT)).status === 429);
    expect(await caller.ask({})).toMatchObject({ status: 429, refused: "rate_limit" });
  });
});

describe("an optimize search", () => {
  async function searcher(usd: string, capMicroUsd: MicroUsd | null = null) {
    const { backend } = installation.gateway;
    const { orgId } = await openAccount(backend, usd);
    const caps = { month: capMicroUsd };
    const { key } = await addKey(backend, orgId, { ...SEARCHING, caps });
    return { orgId, wanted: { key, modelId: "test/both", prompt: "Hello", maxTokens: 64 } };
  }

  test("learns from a refusal whether its budget, the balance or its key is the cause", async () => {
    const { signal } = new AbortController();
    const rich = await searcher("5.00");
    const capped = await searcher("5.00", microUsd(1n));
    const poor = await searcher("0");
    expect(await inside.ask(rich.wanted, signal)).toMatchObject({
      kind: "ended",
      isAnswered: true,
    });
    expect(await inside.ask(capped.wanted, signal)).toEqual({ kind: "uncovered", by: "budget" });
    expect(await inside.ask(poor.wanted, signal)).toEqual({
      kind: "uncovered",
      by: "organization",
    });
    const stranger = { ...rich.wanted, key: createVirtualKey().raw };
    expect(await inside.ask(stranger, signal)).toMatchObject({ kind: "unusable" });
  });

  test("ends at once when it is aborted, and its running call is still settled", async () => {
    const { simulator, backend } = installation.gateway;
    const { orgId, wanted } = await searcher("5.00");
    const before = simulator.counts().total;
    const abort = new AbortController();
    const prompt = "[words:9] [[fault:hold]]";
    const asked = inside.ask({ ...wanted, prompt }, abort.signal);
    await until("the provider is asked", () => simulator.counts().total > before);
    abort.abort();
    expect(await asked).toEqual({ kind: "unreachable" });
    expect((await backend.recordStore.balance(orgId)).heldMicroUsd).toBeGreaterThan(0n);
    simulator.release();
    const [row] = await journal({ orgId });
    assert(row !== undefined, "a call that was sent is in the journal");
    const record = await backend.recordStore.generation(orgId, row.requestId);
    expect(record?.outcome).toBe("client_disconnected");
    const { settledMicroUsd } = await backend.recordStore.balance(orgId);
    expect(row.debitMicroUsd).toBeGreaterThan(0n);
    expect(settledMicroUsd).toBe(dollars("5.00") - row.debitMicroUsd);
  });
});

const PROMPTS = ["one", "two", "three, a bit longer than the others"];
const MODELS = ["test/a", "test/b"];

const ann = withPerson(installation, "ann");

beforeAll(async () => {
  await installation.grant(ann, "5");
});

test("an optimize estimate is the sum of the holds in the dry run of each of its calls", async () => {
  const body = { models: MODELS, prompts: PROMPTS, max_tokens: 32 };
  const { json } = await ann.do("POST /api/console/optimize-estimate", { body });
  expect(at(json, "calls")).toBe(6);
  let most = 0;
  for (const [index, model] of MODELS.entries()) {
    let each = 0;
    for (const prompt of PROMPTS) {
      const messages = [{ role: "user", content: prompt }];
      const call = { model, max_tokens: 32, stream: true, messages };
      const route = await ann.ask("POST /playground/v1/route?for=chat", { body: call });
      each += Number(at(route.json, "estimate.reserve_micro_usd"));
    }
    expect(each).toBeGreaterThan(0);
    expect(microOf(textAt(json, `models.${index}.most_usd`))).toBe(each);
    most += each;
  }
  expect(microOf(textAt(json, "most_usd"))).toBe(most);
});

test("an optimize estimate includes the calls of the judge, and names an unknown model", async () => {
  const models = [...MODELS, "test/unknown"];
  const body = { models, prompts: PROMPTS, max_tokens: 32, judge_model: "test/b" };
  const { json } = await ann.do("POST /api/console/optimize-estimate", { body });
  expect(at(json, "calls")).toBe(12);
  expect(textAt(json, "models.2.message")).toContain("test/unknown");
  expect(at(json, "models.2.most_usd")).toBe("0.000000");
  expect(at(json, "models.0.message")).toBeNull();
  expect(microOf(textAt(json, "judge.most_usd"))).toBeGreaterThan(
    microOf(textAt(json, "models.1.most_usd")),
  );
});

test("an optimize search's answers add up to its results, and only those that a browser lacks are sent", async () => {
  const search = await runSearch(ann, { models: MODELS, prompts: PROMPTS, max_tokens: 32 });
  const path = `/api/console/optimize/${textAt(search, "search_id")}`;
  const { json } = await ann.do(`GET ${path}/answers`);
  expect(json).toMatchObject({ held: true, next: 6, lost: 0, has_more: false, verdicts: [] });
  const answers = listAt(json, "answers");
  expect(
    answers.map((each) => `${Number(at(each, "prompt"))} ${textAt(each, "model")}`).toSorted(),
  ).toEqual(PROMPTS.flatMap((_none, n) => MODELS.map((model) => `${n} ${model}`)));
  for (const [index, model] of MODELS.entries()) {
    const own = answers.filter((each) => at(each, "model") === model);
    const cost = own.reduce<number>((sum, each) => sum + microOf(textAt(each, "cost_usd")), 0);
    expect(cost).toBe(microOf(textAt(search, `results.${index}.cost_usd`)));
  }
  expect(answers.every((each) => textAt(each, "text").length > 0)).toBe(true);
  const rest = await ann.do(`GET ${path}/answers?after=4`);
  expect(listAt(rest.json, "answers")).toEqual(answers.slice(4));
});

function microOf(usd: string): number {
  return Number(usd.replace(".", ""));
}
