import { spawn } from "node:child_process";
import { once } from "node:events";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

import type { Principal } from "../src/accounts/index.ts";
import type { Deployment } from "../src/catalog/index.ts";
import type { ObservedAttempt, Tracing } from "../src/call/index.ts";
import { LiveConfig, loadConfig } from "../src/config/index.ts";
import {
  type AttemptId,
  microUsd,
  newRequestId,
  picoUsd,
  type RequestId,
  systemClock,
} from "../src/core/index.ts";
import { openTracing } from "../src/telemetry/index.ts";

/*
 * What tracing costs a request: the notes of one served attempt (five spans when it is kept), at ratio
 * 0 and 1 in one run, beside the same without tracing. At ratio 1 every trace is encoded and sent to a
 * collector in another process. CPU of this process, minimum and median of several windows.
 */

const WINDOWS = 9;
const REQUESTS_AT_0 = 200_000;
const REQUESTS_AT_1 = 4_000;
/** The queue of the exporter holds more: none is dropped. */
const WAITING_SPANS_MAX = 1_024;
const REQUESTS_A_TURN = 50;
/** The request, its claim, its hold, its attempt, its settlement. */
const SPANS = 5;

const COLLECTOR = `
  const server = require("node:http").createServer((request, response) => {
    request.resume().on("end", () => response.end());
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

const deployment = {
  id: "prov-a/test",
  providerId: "prov-a",
  modelId: "test/a",
  modality: "text",
  baseUrl: "https://api.example.com/v1",
} as unknown as Deployment;
const principal = { orgId: "org_1", keyId: "key_1" } as unknown as Principal;
const asked = { stream: true, outputTokens: 64, modelId: "test/a" } as never;
const end = {
  result: { bridge: { finishReason: "stop" }, failure: undefined, firstOutputMs: 12 },
  settlement: {
    usage: { prompt: 10, cachedPrompt: 0, cacheWrite: 0, completion: 20, internalReasoning: 0 },
    basis: "reported",
    costPicoUsd: picoUsd(1n),
  },
} as unknown as ObservedAttempt;

/** What one request does with its trace, on its way from its first byte to its last. */
function request(tracing: Tracing | undefined, requestId: RequestId): void {
  const nowMs = systemClock.monotonicMs();
  const trace = tracing?.begin({ requestId, method: "POST", route: "/v1/chat", startedMs: nowMs });
  trace?.accepted(principal, undefined);
  trace?.serving();
  trace?.asked({ request: asked, wire: undefined });
  trace?.claiming();
  trace?.claimed(undefined);
  const reserveMicroUsd = microUsd(5n);
  const attempt = trace?.attempt({
    attemptId: 1n as AttemptId,
    deployment,
    reserveMicroUsd,
    isTranslated: false,
    startedMs: nowMs,
  });
  if (attempt !== undefined) {
    attempt.reserved(undefined);
    attempt.sent();
    attempt.ended(nowMs);
    attempt.observed(end);
    attempt.settled(reserveMicroUsd);
  }
  trace?.debited(reserveMicroUsd);
  trace?.served();
  trace?.closed({ status: 200, refusal: undefined, isGone: false, nowMs });
}

/** CPU microseconds a request, for each window. `waiting`: spans that have not left yet. */
async function measure(
  tracing: Tracing | undefined,
  requests: number,
  waiting: (requests: number) => number = () => 0,
): Promise<readonly number[]> {
  const ids = Array.from({ length: 1_000 }, () => newRequestId(systemClock.nowMs()));
  const windows: number[] = [];
  let sent = 0;
  for (let window = 0; window <= WINDOWS; window += 1) {
    const before = process.cpuUsage();
    for (let n = 0; n < requests; n += ids.length) {
      for (const [at, id] of ids.entries()) {
        request(tracing, id);
        sent += 1;
        if (at % REQUESTS_A_TURN === 0) while (waiting(sent) > WAITING_SPANS_MAX) await sleep(1);
      }
      await turn();
    }
    const { user, system } = process.cpuUsage(before);
    // The first window warms up.
    if (window > 0) windows.push((user + system) / requests);
  }
  return windows.toSorted((one, other) => one - other);
}

async function atRatio(perMillion: number, requests: number, url: string): Promise<string> {
  const loaded = loadConfig({ flags: {}, env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
  if (loaded.kind === "invalid") throw new Error(loaded.problems.join("\n"));
  // Above what a setting may say: what is measured is a trace, not the ceiling.
  const kept = { telemetrySamplePerMillion: perMillion, telemetryKeptPerSecond: 2_000_000 };
  const config = { ...loaded.config, ...kept };
  const log = { info: () => undefined, warn: console.warn, error: console.error };
  const tracing = await openTracing({
    live: new LiveConfig(config),
    clock: systemClock,
    log,
    version: "bench",
  });
  if (tracing === undefined) throw new Error("tracing is off");
  const { figures } = tracing;
  const isKept = perMillion > 0;
  const waiting = (sent: number): number =>
    isKept ? sent * SPANS - figures.exported - figures.dropped : 0;
  const windows = await measure(tracing, requests, waiting);
  await tracing.close();
  return `${shown(windows)}; spans exported ${figures.exported}, dropped ${figures.dropped}`;
}

function shown(windows: readonly number[]): string {
  const median = windows[windows.length >> 1] ?? 0;
  return `min ${(windows[0] ?? 0).toFixed(2)} us, median ${median.toFixed(2)} us a request`;
}

const collector = spawn(process.execPath, ["-e", COLLECTOR], {
  stdio: ["ignore", "pipe", "inherit"],
});
const [line] = (await once(collector.stdout, "data")) as [Buffer];
const url = `http://127.0.0.1:${line.toString().trim()}`;
try {
  console.log(`off:     ${shown(await measure(undefined, REQUESTS_AT_0))}`);
  console.log(`ratio 0: ${await atRatio(0, REQUESTS_AT_0, url)}`);
  console.log(`ratio 1: ${await atRatio(1_000_000, REQUESTS_AT_1, url)}`);
} finally {
  collector.kill();
}
