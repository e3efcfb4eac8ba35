import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { METRICS } from "../../src/kernel/metrics/metrics-table.ts";
import { ask } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { bearer, httpCall } from "../support/http-call.ts";
import { type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { hasPromtool, promtoolComplaints } from "../support/promtool.ts";
import { withResource } from "../support/with-resource.ts";

const CANARY = "canary-7f3a";
/** The trace context of a caller. */
const CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03";
const ALL = { telemetrySamplePerMillion: 1_000_000, telemetryKeptPerSecond: 1_000 } as const;

const receiver = withResource(() => startOtlpReceiver());

const gateway = withGateway(() => ({
  settings: {
    ...ALL,
    telemetryEndpoint: receiver.url,
    telemetryPropagate: "prov-b2",
  },
}));
const account = withAccount(gateway, "5.00", { requestsPerMinute: 3 });

async function scrape(accept = "text/plain"): Promise<string> {
  const answer = await fetch(`${gateway.running.internalUrl}/metrics`, { headers: { accept } });
  expect(answer.status).toBe(200);
  return await answer.text();
}

/** The names of the exposed metrics; the samples of a histogram count as one. */
function shownNames(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name));
}

let shown = "";

beforeAll(async () => {
  const { key } = account;
  const asked = { key, wire: "wire_a", model: "test/both" } as const;
  await ask(gateway.url, { ...asked, text: CANARY });
  await ask(gateway.url, { ...asked, text: CANARY, stream: true });
  const fault = { path: "/a/v1/chat/completions", fault: "status:503", times: 1 };
  const method = "POST";
  await fetch(`${gateway.simulator.url}/faults`, { method, body: JSON.stringify(fault) });
  await ask(gateway.url, { ...asked, text: CANARY });
  // This request exceeds the key's requests a minute.
  await ask(gateway.url, { ...asked, text: CANARY });
  await ask(gateway.url, { ...asked, key: `tm_vk_${CANARY}`, text: CANARY });
  await gateway.backend.audit();
  await until("the books were read", async () => (await scrape()).includes("tm_books_owed_usd"));
  shown = await scrape();
});

test("every metric of the reference is exposed after a few calls, unless it may be empty", () => {
  const names = shownNames(shown);
  const missing = Object.entries(METRICS)
    .filter(([name, row]) => row.mayBeEmpty !== true && !names.has(name))
    .map(([name]) => name);
  expect(missing).toEqual([]);
});

test("every exposed metric is in the reference, with the same type", () => {
  const typed = [...shown.matchAll(/^# TYPE (tm_\S+) (\S+)/gm)];
  const found = typed.map(([, name = "", type = ""]) => [name, type]);
  const known = Object.entries(METRICS).map(([name, { type }]) => [name, type]);
  expect(known).toEqual(expect.arrayContaining(found));
  const others = [...shownNames(shown)].filter((name) => !name.startsWith("tm_"));
  expect(others.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([]);
});

test("every label is in the reference, and none names an organization, a key or a prompt", () => {
  for (const [, name = "", labels = ""] of shown.matchAll(/^(tm_\w+)\{(.*)\} /gm)) {
    const base = name.replace(/_(bucket|sum|count)$/, "");
    const row = Object.entries(METRICS).find(([each]) => each === name || each === base)?.[1];
    const allowed = [...(row?.labels ?? []).map((label) => label.name), "le"];
    const used = [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label);
    expect(allowed, name).toEqual(expect.arrayContaining(used));
  }
  for (const secret of [account.orgId, account.keyId, account.key, CANARY, "t@example.com"]) {
    expect(shown).not.toContain(secret);
  }
});

test("the exposed values match the calls that were made", () => {
  const lines = shown.split("\n");
  const value = (series: string): number =>
    Number(
      lines
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")
        .at(-1),
    );
  const both = 'provider="prov-a",model="test/both"';
  const route = 'route="/v1/chat/completions"';
  expect(value(`tm_request_duration_seconds_count{${route},stream="true",end="served"}`)).toBe(1);
  expect(value(`tm_request_duration_seconds_count{${route},stream="false",end="refused"}`)).toBe(2);
  expect(value(`tm_overhead_seconds_count{${route}}`)).toBe(3);
  expect(value(`tm_first_output_seconds_count{${both}}`)).toBe(1);
  expect(value(`tm_output_token_seconds_count{${both}}`)).toBe(1);
  expect(value(`tm_tokens_total{${both},kind="completion"}`)).toBeGreaterThan(0);
  expect(value(`tm_provider_cost_usd_total{${both}}`)).toBeGreaterThan(0);
  expect(value('tm_failovers_total{provider="prov-a",error="upstream_error"}')).toBe(1);
  const limit = 'scope="key",kind="rpm",origin="gateway_admission"';
  expect(value(`tm_limit_refusals_total{${limit}}`)).toBe(1);
  expect(value("tm_books_last_audit_violations")).toBeNaN();
  expect(value('tm_instance_state{state="serving"}')).toBe(1);
  expect(value('tm_ledger_faults_total{lane="reserve",kind="busy"}')).toBe(0);
  expect(value("tm_books_partitions_ahead")).toBeGreaterThan(3);
  expect(value('tm_schema_level{of="database"}')).toBe(value('tm_schema_level{of="program"}'));
  expect(value(`tm_circuit_open{${both}}`)).toBe(0);
  expect(value("tm_limit_store_up")).toBe(1);
  expect(value('tm_changes_total{action="key.create"}')).toBe(1);
});

test("a scraper that asks for OpenMetrics gets the same series and an end mark", async () => {
  const text = await scrape("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  expect(text).toContain("# TYPE tm_requests counter\ntm_requests_total{");
  const names = (all: string): string[] =>
    [...all.matchAll(/^(tm_\w+)[{ ]/gm)].map(([, name = ""]) => name);
  expect(new Set(names(text))).toEqual(new Set(names(shown)));
});

test.skipIf(!hasPromtool)("promtool finds no problem in the metrics", () => {
  expect(promtoolComplaints(shown)).toBe("");
});

describe("traces", () => {
  const caller = withAccount(gateway, "5.00");
  afterEach(() => httpCall(`${gateway.simulator.url}/faults`, { method: "DELETE" }));

  async function spansOfRequest(requestId: string): Promise<readonly ReceivedSpan[]> {
    const found = (): readonly ReceivedSpan[] => {
      const own = receiver.spans.find((span) => span.attributes["tm.request_id"] === requestId);
      return receiver.spans.filter(({ traceId }) => traceId === own?.traceId);
    };
    await until("the trace has arrived", () => Promise.resolve(found().length > 0));
    return found();
  }

  test("of a request that fails over have the request and an attempt for each provider", async () => {
    await httpCall(`${gateway.simulator.url}/faults`, {
      body: { model: "test/both", fault: "status:500", times: 1 },
    });
    const { key, orgId, keyId } = caller;
    const text = "Hello, how are you today?";
    const asked = { key, wire: "wire_a", model: "test/both", text, stream: true } as const;
    const { status, requestId } = await ask(gateway.url, asked);
    expect(status).toBe(200);
    const spans = await spansOfRequest(requestId);
    const server = spans.find(({ kind }) => kind === 2);
    expect(server).toMatchObject({
      traceId: requestId.replaceAll("-", ""),
      parentSpanId: "",
      name: "POST /v1/chat/completions",
      status: 0,
      attributes: {
        "http.request.method": "POST",
        "http.route": "/v1/chat/completions",
        "http.response.status_code": 200,
        "tm.org_id": orgId,
        "tm.key_id": keyId,
        "tm.attempts": 2,
        "tm.wire": "wire_a",
      },
    });
    const attempts = spans.filter(({ kind }) => kind === 3);
    expect(attempts).toMatchObject([
      {
        name: "chat test/both",
        status: 2,
        parentSpanId: server?.spanId,
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": "prov-a",
          "error.type": "upstream_error",
          "tm.translated": false,
        },
      },
      {
        name: "chat test/both",
        status: 0,
        parentSpanId: server?.spanId,
        attributes: {
          "gen_ai.provider.name": "prov-b2",
          "gen_ai.request.model": "test/both",
          "gen_ai.request.stream": true,
          "gen_ai.request.max_tokens": 64,
          "gen_ai.response.finish_reasons": ["stop"],
          "server.address": "127.0.0.1",
          "tm.translated": true,
        },
      },
    ]);
    expect(spans.map(({ name }) => name)).toEqual([
      "POST /v1/chat/completions",
      "limits.claim",
      "ledger.reserve",
      "chat test/both",
      "ledger.settle",
      "ledger.reserve",
      "chat test/both",
      "ledger.settle",
    ]);
    for (const span of spans) {
      expect(span.startNs).toBeGreaterThanOrEqual(server?.startNs ?? 0n);
      expect(span.endNs).toBeLessThanOrEqual(server?.endNs ?? 0n);
      expect(span.endNs).toBeGreaterThanOrEqual(span.startNs);
    }
    // The setting names only the second provider, so only that one gets the trace context.
    const [first, second] = gateway.simulator.calls().slice(-2);
    expect(first?.headers).not.toHaveProperty("traceparent");
    const sent = `00-${server?.traceId}-${attempts[1]?.spanId}-03`;
    expect(second?.headers).toMatchObject({ traceparent: sent });
    const line = gateway
      .log()
      .split("\n")
      .find((each) => each.includes(requestId));
    expect(JSON.parse(line ?? "")).toMatchObject({ trace_id: server?.traceId });
  });

  test("continue the caller's traceparent, and no provider gets the tracestate or the baggage", async () => {
    const headers = {
      ...bearer(caller.key),
      traceparent: CALLER,
      tracestate: "vendor=canary-state",
      baggage: "user=canary-baggage",
    };
    const body = chatBody("test/both", { provider: { order: ["prov-b2"] } });
    const answer = await httpCall(`${gateway.url}/v1/chat/completions`, { headers, body });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers).not.toHaveProperty("traceparent");
    const [, traceId, spanId] = CALLER.split("-");
    const requestId = String(answer.headers["x-request-id"]);
    const spans = await spansOfRequest(requestId);
    expect(spans[0]).toMatchObject({ kind: 2, traceId, parentSpanId: spanId });
    const sent = gateway.simulator.calls().at(-1);
    const attempt = spans.find(({ kind }) => kind === 3);
    expect(sent?.headers).toMatchObject({ traceparent: `00-${traceId}-${attempt?.spanId}-03` });
    expect(JSON.stringify(sent?.headers)).not.toContain("canary");
    expect(receiver.text()).not.toContain("canary");
  });

  test("of a refused request have its error class and no attempt", async () => {
    const poor = await gateway.account("0");
    const asked = { key: poor.key, wire: "wire_b", model: "test/b", text: "Hello" } as const;
    const { status, requestId } = await ask(gateway.url, asked);
    expect(status).toBe(429);
    const spans = await spansOfRequest(requestId);
    expect(spans[0]).toMatchObject({
      name: "POST /v1/messages",
      status: 0,
      attributes: { "tm.attempts": 0, "tm.wire": "wire_b", "error.type": "insufficient_quota" },
    });
    expect(spans.filter(({ kind }) => kind === 3)).toEqual([]);
  });
});
