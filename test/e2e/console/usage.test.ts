import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { request } from "node:http";
import type { Socket } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";

import { createRequestId, type AttemptId, type KeyId } from "../../../src/kernel/core/ids.ts";
import { formatUsd, microUsd, parseUsd } from "../../../src/kernel/core/money.ts";
import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { at, listAt, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { closeRow, pinPrices, reserveRow } from "../../support/ledger-rows.ts";
import { batchOf } from "../../support/reserve-batch.ts";
import { readSql, runSql } from "../../support/sql.ts";
import { withResource } from "../../support/with-resource.ts";
import { newcomer, newKey, withProviderConsole, withPerson } from "./provider-fixture.ts";

const fixture = withProviderConsole();
const ann = withPerson(fixture, "ann");
const key = withResource(() => newKey(ann, { name: "=1+1" }));

beforeAll(async () => {
  await fixture.grant(ann, "10");
  for (const model of ["test/a", "test/b", "test/a"]) await fixture.chat(key.secret, model);
  const capped = await newKey(ann, { name: "capped", cap_usd: "0.000001" });
  await fixture.chat(capped.secret);
  await ann.do("POST /playground/v1/chat/completions", { body: chatBody("test/a") });
  // A refusal is written down a moment after it was answered.
  await until("the refusal is written down", async () => {
    const refused = await ann.do("GET /api/console/requests?status=rejected_by_gateway");
    return listAt(refused.json, "data").length === 1;
  });
});

/** The rows of a CSV file in which no cell needs quotes. */
function csvRows(text: string): readonly (readonly string[])[] {
  expect(text).not.toContain('"');
  const lines = text.split("\r\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => line.split(","));
}

function sumOf(amounts: readonly string[]): string {
  return formatUsd(
    amounts.reduce((sum, text) => microUsd(sum + (parseUsd(text) ?? 0n)), microUsd(0n)),
  );
}

describe("the figures of a time range", () => {
  test("add up to what the balance was debited in every grouping, to the micro-dollar", async () => {
    const session = await ann.ask("GET /api/console/session");
    const settled = parseUsd(textAt(session.json, "balance.settled_usd")) ?? 0n;
    const spent = formatUsd(microUsd((parseUsd("10") ?? 0n) - settled));
    expect(spent).not.toBe("0.000000");
    for (const by of ["model", "key", "provider", "day", "status"]) {
      const { json } = await ann.ask(`GET /api/console/usage?group_by=${by}`);
      expect(at(json, "totals.spent_usd")).toBe(spent);
      const groups = listAt(json, "groups").map((each) => textAt(each, "figures.spent_usd"));
      expect(sumOf(groups)).toBe(spent);
      const ends = Object.values(at(json, "totals.by_status") as Record<string, number>);
      expect(ends.reduce((sum, count) => sum + count, 0)).toBe(at(json, "totals.requests"));
      const parts = listAt(json, "series").flatMap((each) =>
        Object.values(at(each, "parts") as object).map((part) => textAt(part, "spent_usd")),
      );
      expect(sumOf(parts)).toBe(spent);
    }
    const byKey = await ann.ask("GET /api/console/usage?group_by=key");
    const names = listAt(byKey.json, "groups").map((each) => at(each, "name"));
    expect(names).toEqual(expect.arrayContaining(["=1+1", "Playground"]));
    const ledger = await ann.ask("GET /api/console/credit-ledger");
    const lines = listAt(ledger.json, "data").map((each) => textAt(each, "amount_usd"));
    expect(sumOf(lines)).toBe(formatUsd(microUsd(settled)));
    const file = await ann.ask("GET /api/console/credit-ledger.csv");
    const [, ...rows] = csvRows(file.text);
    expect(sumOf(rows.map((row) => row.at(-1) ?? ""))).toBe(formatUsd(microUsd(settled)));
  });

  test("for several values of a filter are their sum, and for a tag those of the keys that have it", async () => {
    const requestsOf = async (filter: string, by = ann): Promise<number> => {
      const { json } = await by.do(`GET /api/console/usage?${filter}`);
      const log = await by.do(`GET /api/console/requests?limit=200&${filter}`);
      const file = await by.do(`GET /api/console/requests.csv?${filter}`);
      const requests = Number(at(json, "totals.requests"));
      expect(listAt(log.json, "data")).toHaveLength(requests);
      expect(csvRows(file.text)).toHaveLength(requests + 1);
      return requests;
    };
    const together = async (name: string, values: readonly string[]): Promise<void> => {
      const each = await Promise.all(values.map((value) => requestsOf(`${name}=${value}`)));
      const sum = each.reduce((total, requests) => total + requests, 0);
      expect(Math.min(...each)).toBeGreaterThan(0);
      expect(await requestsOf(`${name}=${values.join()}`)).toBe(sum);
    };
    await together("model", ["test/a", "test/b"]);
    await together("provider", ["prov-a", "prov-b"]);
    await together("key", [key.id, "playground"]);
    await together("status", ["succeeded", "rejected_by_gateway"]);
    expect(await requestsOf("tag=ci")).toBe(0);
    const tag = (tags: readonly string[]): Promise<HttpAnswer> =>
      ann.do("POST /api/console/keys/change", { body: { key_ids: [key.id], tags } });
    await tag(["ci", "eu"]);
    // A key that has both tags counts once.
    expect(await requestsOf("tag=ci,eu")).toBe(await requestsOf(`key=${key.id}`));
    const eve = await fixture.signIn(newcomer("eve"));
    expect(await requestsOf("tag=ci", eve)).toBe(0);
    await tag([]);
    expect(await requestsOf("tag=ci")).toBe(0);
  });

  test.each([
    ["from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "from"],
    ["from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", "from"],
    ["modle=a", "modle"],
    ["status=failed,broken", "status"],
    ["model=a,,b", "model"],
    [`key=${Array.from({ length: 21 }, (_none, n) => `k${n}`).join()}`, "key"],
  ])("are refused for the query %s, with the name of the filter", async (query, field) => {
    const answer = await ann.ask(`GET /api/console/usage?${query}`);
    expect(answer.status).toBe(400);
    expect(at(answer.json, "error.field")).toBe(field);
  });
});

describe("the log of requests", () => {
  test("has the same rows as its CSV file for every filter, and no cell of it runs as a formula", async () => {
    for (const filter of ["", `key=${key.id}`, "status=rejected_by_gateway"]) {
      const list = await ann.ask(`GET /api/console/requests?limit=200&${filter}`);
      const file = await ann.ask(`GET /api/console/requests.csv?${filter}`);
      expect(file.headers["content-disposition"]).toMatch(
        /^attachment; filename="requests-\d{4}-\d\d-\d\dT\d{4}-to-[-\dT]+[-\w]*\.csv"$/,
      );
      const [head, ...rows] = csvRows(file.text);
      expect(file.status).toBe(200);
      const data = listAt(list.json, "data");
      expect(data.length).toBeGreaterThan(0);
      const column = (name: string): readonly string[] =>
        rows.map((row) => row[head?.indexOf(name) ?? -1] ?? "");
      for (const name of ["request_id", "cost_usd", "status", "outcome"]) {
        expect(column(name)).toEqual(data.map((row) => at(row, name)));
      }
    }
    const named = await ann.ask(`GET /api/console/requests.csv?key=${key.id}`);
    const [head, first] = csvRows(named.text);
    expect(first?.[head?.indexOf("source") ?? -1]).toBe("'=1+1");
  });

  test("leaves no listener behind on a connection that downloads many files", async () => {
    const sockets = new Set<Socket>();
    const note = (message: unknown): unknown => sockets.add((message as { socket: Socket }).socket);
    subscribe("http.server.request.start", note);
    for (let n = 0; n < 12; n += 1) {
      expect((await ann.ask("GET /api/console/credit-ledger.csv")).status).toBe(200);
    }
    unsubscribe("http.server.request.start", note);
    // One listener belongs to the HTTP server itself.
    expect([...sockets].map((socket) => socket.listenerCount("timeout"))).toEqual(
      [...sockets].map(() => 1),
    );
    expect(sockets.size).toBeLessThan(12);
  });

  test("is sorted by the server, and begins at its first row for a cursor of another order", async () => {
    const costs = (json: unknown): readonly number[] =>
      listAt(json, "data").map((row) => Number(at(row, "cost_usd")));
    const page = async (query: string): Promise<unknown> =>
      (await ann.do(`GET /api/console/requests?${query}`)).json;
    const whole = await page("limit=200&sort=cost");
    const unsorted = await page("limit=200");
    expect(costs(whole)).toEqual(costs(unsorted).toSorted((a, b) => b - a));
    const first = await page("limit=1&sort=cost");
    const cursor = encodeURIComponent(textAt(first, "next_cursor"));
    const second = await page(`limit=1&sort=cost&cursor=${cursor}`);
    expect(at(second, "data.0")).toEqual(at(whole, "data.1"));
    const other = await page(`limit=1&sort=cost&direction=asc&cursor=${cursor}`);
    expect(costs(other)).toEqual([Math.min(...costs(whole))]);
    expect((await ann.ask("GET /api/console/requests?sort=price")).status).toBe(400);
  });

  test.each(["cost.desc.9999999999999.1.9999999999999999999.", "cost.desc.-1.0.1.", "x"])(
    "begins at its first row for the invalid cursor %s",
    async (text) => {
      const cursor = `${text}01a1f93d-5039-7ba5-a268-614908ff13f6`;
      const asked = `GET /api/console/requests?limit=1&sort=cost&cursor=${cursor}`;
      expect((await ann.ask(asked)).status).toBe(200);
    },
  );

  test("opens each request with its attempts and their pinned prices", async () => {
    const list = await ann.ask("GET /api/console/requests?model=test/b");
    const id = textAt(list.json, "data.0.request_id");
    const { json } = await ann.ask(`GET /api/console/requests/${id}`);
    expect(at(json, "request")).toEqual(at(list.json, "data.0"));
    expect(at(json, "attempts.0")).toMatchObject({
      n: 1,
      provider: "prov-b",
      outcome: "completed",
      settlement: "reported",
      prices: { prompt: "1", completion: "10", cached_prompt: "1" },
    });
  });

  test("explains a refusal in words, and answers 404 for a served request", async () => {
    const refused = await ann.ask("GET /api/console/requests?status=rejected_by_gateway");
    const id = textAt(refused.json, "data.0.request_id");
    const reason = await ann.ask(`GET /api/console/refusals/${id}`);
    expect(reason.json).toMatchObject({ request_id: id, error_class: "insufficient_quota" });
    expect(at(reason.json, "action")).toBe("raise_cap");
    expect(textAt(reason.json, "explanation")).toContain("Raise the cap, or ask for fewer output");
    const served = await ann.ask("GET /api/console/requests?status=succeeded");
    const okId = textAt(served.json, "data.0.request_id");
    expect((await ann.ask(`GET /api/console/refusals/${okId}`)).status).toBe(404);
  });

  test("does not take a served request with impossible usage for a refusal", async () => {
    const cat = await fixture.signIn(newcomer("cat"));
    await fixture.grant(cat, "1");
    const usage = JSON.stringify({ prompt_tokens: 9e15, completion_tokens: 9e15 });
    const messages = [{ role: "user", content: `[[fault:usage:${usage}]]` }];
    const body = chatBody("test/a", { messages });
    const answer = await cat.do("POST /playground/v1/chat/completions", { body });
    const id = String(answer.headers["x-request-id"]);
    const row = await cat.do(`GET /api/console/requests/${id}`);
    expect(at(row.json, "request")).toMatchObject({
      outcome: "completed",
      error_class: "usage_impossible",
    });
    const reason = await cat.ask(`GET /api/console/refusals/${id}`);
    expect([reason.status, textAt(reason.json, "error.message")]).toEqual([
      404,
      "this request was not rejected; its page shows the result",
    ]);
  });

  test("can be downloaded again after 12 clients aborted their downloads", async () => {
    const headers = { cookie: ann.browser.header(new URL(fixture.url)) };
    for (let tries = 0; tries < 12; tries += 1) {
      const sent = request(`${fixture.url}/api/console/requests.csv`, { agent: false, headers });
      sent.on("error", () => undefined);
      await new Promise<void>((done) => {
        sent.once("close", done);
        sent.once("socket", (socket) => socket.once("connect", () => sent.flushHeaders()));
        sent.end(() => sent.destroy());
      });
    }
    const opened = until("files may be opened again", async () => {
      return (await ann.ask("GET /api/console/requests.csv")).status === 200;
    });
    expect(await opened).toBe(true);
  });
});

describe("the cost of other models", () => {
  test("counts the tokens of the organization's requests at the prices of these models", async () => {
    const { json } = await ann.do("GET /api/console/model-costs?models=test/b,test/none");
    const usage = await ann.do("GET /api/console/usage?group_by=model");
    expect(at(json, "traffic.spent_usd")).toBe(at(usage.json, "totals.spent_usd"));
    // Every model of this catalog costs $1 per million input and $10 per million output tokens.
    expect(at(json, "traffic.spent_usd")).toBe(at(json, "models.0.listings.0.cost_usd"));
    expect(at(json, "traffic.tokens")).toEqual(at(usage.json, "totals.tokens"));
    expect(listAt(json, "models")).toMatchObject([
      { model: "test/b", obstacle: null, listings: [{ provider: "prov-b", too_long: 0 }] },
      { model: "test/none", obstacle: "not_listed", listings: [] },
    ]);
    const one = await ann.do("GET /api/console/model-costs?models=test/b&of=test/b");
    expect(listAt(one.json, "traffic.models")).toMatchObject([{ model: "test/b" }]);
    const dan = await fixture.signIn(newcomer("dan"));
    const none = await dan.do("GET /api/console/model-costs?models=test/b");
    expect(at(none.json, "traffic")).toMatchObject({ requests: 0, spent_usd: "0.000000" });
  });

  test.each(["", "?models=a,b,c,d,e"])("needs 1 to 4 models: '%s' is refused", async (query) => {
    const answer = await ann.ask(`GET /api/console/model-costs${query}`);
    expect([answer.status, at(answer.json, "error.field")]).toEqual([400, "models"]);
  });
});

test("the overview has 30 days, the last 24 hours, the top models and the first steps that are done", async () => {
  const { json } = await ann.ask("GET /api/console/overview");
  expect(at(json, "done")).toEqual({ has_key: true, has_credit: true, has_request: true });
  expect(listAt(json, "days")).toHaveLength(30);
  expect(at(json, "last_24h.requests")).toBe(5);
  expect(at(json, "last_24h.by_status.rejected_by_gateway")).toBe(1);
  expect(listAt(json, "rejected_for")).toEqual([{ cause: "key_cap", requests: 1 }]);
  expect(listAt(json, "top_models")).toMatchObject([
    // The request that the key's cap refused does not count.
    { model: "test/a", requests: 3 },
    { model: "test/b", requests: 1 },
  ]);
  const names = listAt(json, "day_models").map((each) => textAt(each, "model"));
  expect(names).toEqual(["test/a", "test/b"]);
  for (const day of listAt(json, "days")) {
    const parts = Object.values(at(day, "spent_by_model") as Record<string, string>);
    expect(sumOf(parts)).toBe(at(day, "spent_usd"));
  }
  const first = await ann.ask("GET /api/console/first-request");
  expect(textAt(first.json, "request_id")).not.toBe("");
});

test("the last 24 hours are compared with the 24 hours before, if these had any requests", async () => {
  const first = await ann.do("GET /api/console/overview");
  expect(at(first.json, "before")).toEqual({ last_24h: null, spent_month_usd: null });
  await runSql(
    fixture.gateway,
    "insert into refused_minute values ($1, date_trunc('minute', now() - interval '30 hours'), $2, 0, 7)",
    [ann.orgId, key.id],
  );
  const { json } = await ann.do("GET /api/console/overview");
  expect(at(json, "before.last_24h.by_status.rejected_by_gateway")).toBe(7);
  expect(at(json, "last_24h.requests")).toBe(at(first.json, "last_24h.requests"));
});

test("how long the balance lasts is estimated from the whole days before today", async () => {
  const lea = await fixture.signIn(newcomer("lea"));
  await fixture.grant(lea, "10");
  const keyId = (await newKey(lea)).id as KeyId;
  expect(at((await lea.do("GET /api/console/overview")).json, "lasts")).toBeNull();
  const { backend } = fixture.gateway;
  await pinPrices(backend);
  const member = await backend.ledgerBatchStore.join("history", 600_000);
  for (const daysAgo of [2, 1]) {
    const [admitted] = await readSql(
      fixture.gateway,
      `select attempt_id_at(now() - $1 * interval '1 day')::text as id,
        ensure_attempt_partition((now() - $1 * interval '1 day')::date)`,
      [daysAgo],
    );
    const attemptId = BigInt(String(admitted?.["id"])) as AttemptId;
    const requestId = createRequestId(Date.now() - daysAgo * 86_400_000);
    const row = reserveRow({ orgId: lea.orgId, keyId, attemptId }, 1_000_000n, { requestId });
    const { outcomes } = await backend.ledgerBatchStore.runBatch(
      batchOf(member, [{ row, close: null }]),
    );
    expect(outcomes).toMatchObject([{ kind: "reserved" }]);
    await backend.ledgerBatchStore.closeBatch([closeRow(attemptId, 1_000_000n)]);
  }
  const { json } = await lea.do("GET /api/console/overview");
  expect(at(json, "lasts.per_day_usd")).toBe("1.000000");
  const lastsDays = (Date.parse(textAt(json, "lasts.until")) - Date.now()) / 86_400_000;
  expect(Math.round(lastsDays * 100) / 100).toBe(8);
});

describe("the playground", () => {
  test("serves the gateway's routes with the session, and sends no key to the browser", async () => {
    const answer = await ann.ask("POST /playground/v1/chat/completions", {
      body: chatBody("test/a"),
    });
    expect(answer.headers["x-tm-provider"]).toBe("prov-a");
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(answer.text).not.toContain("tm_vk_");
    const id = String(answer.headers["x-request-id"]);
    const record = await ann.ask(`GET /playground/v1/generation?id=${id}`);
    expect(at(record.json, "data.id")).toBe(id);
    const log = await ann.ask(`GET /api/console/requests/${id}`);
    expect(at(log.json, "request")).toMatchObject({ source: "Playground", key_id: null });
    const file = await ann.ask("GET /api/console/requests.csv?key=playground");
    const [head = [], ...rows] = csvRows(file.text);
    const keys = new Set(rows.map((row) => row[head.indexOf("key_id")]));
    expect([...keys]).toEqual(["playground"]);
    const limits = await ann.ask("GET /playground/v1/limits");
    expect(at(limits.json, "scopes.0.id")).toBe("key:playground");
  });

  test("streams an answer, and reads a body that is larger than the console's bound of a megabyte", async () => {
    const body = chatBody("test/a", { stream: true });
    const stream = await ann.ask("POST /playground/v1/chat/completions", { body });
    expect(stream.headers["content-type"]).toContain("text/event-stream");
    expect(stream.text).toContain("data: [DONE]");
    const large = { model: "test/a", max_tokens: 1, messages: "x".repeat(1_500_000) };
    const refused = await ann.ask("POST /playground/v1/chat/completions", { body: large });
    expect(refused.status).toBe(400);
  });
});
