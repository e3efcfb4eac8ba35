import { describe, expect, test } from "vitest";

import type { Principal } from "../accounts/principal.ts";
import {
  loadConfig,
  type Config,
  createRequestId,
  refusal,
  systemClock,
  type Logger,
} from "../../kernel/index.ts";
import { until } from "../../../test/support/books.ts";
import { startOtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { openTracing, type OpenTracing } from "./open-tracing.ts";

const CALLER = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const SAMPLED = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const UNSAMPLED = `00-${CALLER.traceId}-${CALLER.spanId}-00`;
/** How long `close` waits for a collector that responds, and for one that does not. */
const PATIENT_MS = 60_000;
const IMPATIENT_MS = 50;
const PRINCIPAL = { orgId: "org_1", keyId: "key_1" } as unknown as Principal;

function configOf(env: Readonly<Record<string, string>>): Config {
  const loaded = loadConfig({ flags: {}, env });
  if (loaded.kind === "invalid") throw new Error(loaded.problems.join("\n"));
  return loaded.config;
}

async function openAt(
  endpoint: string,
  env: Readonly<Record<string, string>> = {},
  closeMs = PATIENT_MS,
): Promise<OpenTracing & { readonly logged: string[] }> {
  const logged: string[] = [];
  const log: Logger = {
    info: () => undefined,
    warn: (detail, message) => void logged.push(`${JSON.stringify(detail)} ${message}`),
    error: () => undefined,
  };
  const config = configOf({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...env });
  const options = { config, clock: systemClock, log, version: "1.2.3", closeMs };
  const tracing = await openTracing(options);
  if (tracing === undefined) throw new Error("tracing is off");
  return { ...tracing, figures: tracing.figures, logged };
}

/** Traces one whole request; returns the id of its trace, or undefined if it is not kept. */
function request(
  tracing: OpenTracing,
  call: {
    readonly traceparent?: string;
    readonly isAccepted?: boolean;
    readonly status?: number;
  } = {},
): string | undefined {
  const { traceparent, isAccepted = true, status = 200 } = call;
  const nowMs = systemClock.monotonicMs();
  const requestId = createRequestId(systemClock.nowMs());
  const trace = tracing.begin({ requestId, method: "GET", route: "/v1/models", startedMs: nowMs });
  if (isAccepted) trace.accepted(PRINCIPAL, traceparent);
  const detail = { origin: "gateway_infrastructure", status } as const;
  const failed = status === 200 ? undefined : refusal("gateway_error", "it failed", detail);
  return trace.closed({ status, refusal: failed, isGone: false, nowMs: nowMs + 5 });
}

describe("a caller's own trace", () => {
  test("is continued by the request's span, which is exported only if the caller sampled the trace", async () => {
    const receiver = await startOtlpReceiver();
    const tracing = await openAt(receiver.url, { TM_TELEMETRY_SAMPLE_PER_MILLION: "0" });
    expect(request(tracing, { traceparent: SAMPLED })).toBe(CALLER.traceId);
    expect(request(tracing, { traceparent: UNSAMPLED })).toBeUndefined();
    expect(request(tracing)).toBeUndefined();
    await tracing.close();
    await receiver.close();
    expect(receiver.spans).toMatchObject([
      { traceId: CALLER.traceId, parentSpanId: CALLER.spanId, links: [], name: "GET /v1/models" },
    ]);
    expect(tracing.figures).toMatchObject({ exported: 1, dropped: 0 });
  });

  test("is only linked from the request's own trace if incoming traces are set to restart", async () => {
    const receiver = await startOtlpReceiver();
    const env = { TM_TELEMETRY_SAMPLE_PER_MILLION: "1000000", TM_TELEMETRY_INCOMING: "restart" };
    const tracing = await openAt(receiver.url, env);
    const own = request(tracing, { traceparent: UNSAMPLED });
    await tracing.close();
    await receiver.close();
    expect(own).not.toBe(CALLER.traceId);
    expect(receiver.spans).toMatchObject([{ traceId: own, parentSpanId: "", links: [CALLER] }]);
  });

  test("is not continued before the key is accepted, and of such requests only failures are exported", async () => {
    const receiver = await startOtlpReceiver();
    const tracing = await openAt(receiver.url, { TM_TELEMETRY_SAMPLE_PER_MILLION: "1000000" });
    expect(request(tracing, { traceparent: SAMPLED, isAccepted: false })).toBeUndefined();
    const failed = request(tracing, { traceparent: SAMPLED, isAccepted: false, status: 503 });
    expect(failed).not.toBe(CALLER.traceId);
    await tracing.close();
    await receiver.close();
    expect(receiver.spans).toMatchObject([
      {
        traceId: failed,
        parentSpanId: "",
        status: 2,
        attributes: { "error.type": "gateway_error" },
      },
    ]);
    expect(receiver.spans[0]?.attributes).not.toHaveProperty("tm.org_id");
  });
});

test("an export has the operator's headers and resource", async () => {
  const receiver = await startOtlpReceiver();
  const tracing = await openAt("http://127.0.0.1:1/unused", {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/custom/path`,
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20YTpi,x-tenant=one",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=ignored,team=a%2Cb",
    OTEL_SERVICE_NAME: "market",
    TM_TELEMETRY_SAMPLE_PER_MILLION: "1000000",
  });
  request(tracing);
  await tracing.close();
  await receiver.close();
  expect(receiver.headers).toMatchObject([
    { ":path": "/custom/path", authorization: "Basic YTpi", "x-tenant": "one" },
  ]);
  expect(receiver.spans).toMatchObject([
    {
      resource: { "service.name": "market", "service.version": "1.2.3", team: "a,b" },
      schemaUrl: "https://opentelemetry.io/schemas/1.41.0",
    },
  ]);
});

const FLOOD = { TM_TELEMETRY_SAMPLE_PER_MILLION: "1000000", TM_TELEMETRY_KEPT_PER_SECOND: "10000" };
const REQUESTS = 4_500;

test("a collector that never answers costs only its spans, which are counted", async () => {
  const receiver = await startOtlpReceiver({ answer: "never" });
  const tracing = await openAt(receiver.url, FLOOD, IMPATIENT_MS);
  // Far more traces at once than the queue holds: the rest is dropped, and no request waits.
  const kept = Array.from({ length: REQUESTS }, () => request(tracing)).filter(Boolean).length;
  expect(kept).toBe(REQUESTS);
  const { figures } = tracing;
  expect(figures.dropped).toBeGreaterThanOrEqual(REQUESTS - 2_048 - 512);
  expect(figures.dropped).toBeLessThan(REQUESTS);
  await receiver.close();
  await tracing.close();
  expect(figures.exported).toBe(0);
});

test("a collector that refuses exports is logged once, without its secret and the exported data", async () => {
  const receiver = await startOtlpReceiver({ answer: 401 });
  const secret = { OTEL_EXPORTER_OTLP_HEADERS: "authorization=collector-secret" };
  const tracing = await openAt(receiver.url, { ...FLOOD, ...secret });
  for (let n = 0; n < 1_500; n += 1) request(tracing);
  const { figures, logged } = tracing;
  await until("all were refused", () => Promise.resolve(figures.dropped === 1_500));
  expect(figures.exported).toBe(0);
  expect(logged).toHaveLength(1);
  expect(logged[0]).not.toMatch(/collector-secret|v1.models/);
  await tracing.close();
  await receiver.close();
});

test("tracing stays off if no traces endpoint is configured", async () => {
  const options = { clock: systemClock, version: "1", log: console as unknown as Logger };
  expect(await openTracing({ ...options, config: configOf({}) })).toBeUndefined();
});

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:secret@collector:4318"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "authorization=a%0d%0asecret"],
  ["TM_TELEMETRY_INCOMING", "trust"],
])(
  "the setting %s=%s is refused with a message that names it and contains no secret",
  (name, value) => {
    const loaded = loadConfig({ flags: {}, env: { [name]: value } });
    const problems = loaded.kind === "invalid" ? loaded.problems.join() : "";
    expect(problems).toContain(name);
    expect(problems).not.toContain("secret");
  },
);
