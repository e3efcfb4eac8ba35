import { afterEach, describe, expect, test } from "vitest";

import { ask } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { bearer, httpCall } from "../support/http-call.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { withResource } from "../support/with-resource.ts";

const CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03";
const ALL = { telemetrySamplePerMillion: 1_000_000, telemetryKeptPerSecond: 1_000 } as const;

const receiver = withResource(
  () => startOtlpReceiver(),
  (each) => each.close(),
);

const gateway = withGateway(() => ({
  settings: {
    ...ALL,
    telemetryEndpoint: receiver.url,
    telemetryHeaders: "authorization=Bearer%20collector-secret",
    telemetryResourceAttributes: "deployment.environment.name=test,service.name=other",
    telemetryServiceName: "market",
    telemetryPropagate: "prov-b2",
  },
}));
const account = withAccount(gateway, "5.00");

afterEach(() => httpCall(`${gateway.simulator.url}/faults`, { method: "DELETE" }));

async function spansOfRequest(requestId: string): Promise<readonly ReceivedSpan[]> {
  const found = (): readonly ReceivedSpan[] => {
    const own = receiver.spans.find((span) => span.attributes["tm.request_id"] === requestId);
    return receiver.spans.filter(({ traceId }) => traceId === own?.traceId);
  };
  await until("the trace has arrived", () => Promise.resolve(found().length > 0));
  return found();
}

describe("one request that fails over", () => {
  test("is one trace with the request and an attempt for each provider", async () => {
    await httpCall(`${gateway.simulator.url}/faults`, {
      body: { model: "test/both", fault: "status:500", times: 1 },
    });
    const { key, orgId, keyId } = account;
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
      schemaUrl: "https://opentelemetry.io/schemas/1.41.0",
      resource: { "service.name": "market", "deployment.environment.name": "test" },
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
    // The provider that failed was not named in the setting; the second one was.
    const [first, second] = gateway.simulator.calls().slice(-2);
    expect(first?.headers).not.toHaveProperty("traceparent");
    const sent = `00-${server?.traceId}-${attempts[1]?.spanId}-03`;
    expect(second?.headers).toMatchObject({ traceparent: sent });
    const line = gateway
      .log()
      .split("\n")
      .find((each) => each.includes(requestId));
    expect(JSON.parse(line ?? "")).toMatchObject({ trace_id: server?.traceId });
    expect(receiver.headers.at(-1)).toMatchObject({ authorization: "Bearer collector-secret" });
  });
});

describe("a caller's own trace", () => {
  test("is read from the traceparent header only, and no provider gets the other headers", async () => {
    const headers = {
      ...bearer(account.key),
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

  test("the trace of a refused request names the limit", async () => {
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
