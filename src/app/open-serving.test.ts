import { readFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { openRecipe, promisesOnly, RecordedExchange } from "../../test/support/recipe.ts";
import { chatOn } from "../formats/modality/chat/index.ts";
import { decisions } from "../formats/modality/decisions/index.ts";
import { images } from "../formats/modality/images/index.ts";
import { videos } from "../formats/modality/videos/index.ts";
import type { CallRequest } from "../formats/wire/modality.ts";
import { wires } from "../formats/wire/wires.ts";
import { type AbuseMonitor, NO_ABUSE_MONITOR } from "../gateway/abuse/unusual-use.ts";
import { TrialAbuseMonitor } from "../gateway/abuse/trial-abuse-monitor.ts";
import type { Principal } from "../gateway/accounts/principal.ts";
import type { CallKind } from "../gateway/call/call-kind.ts";
import { serveCall } from "../gateway/call/call.ts";
import { loadConfig } from "../kernel/config/load-config.ts";
import type { Config, SettingName } from "../kernel/config/settings.ts";
import { microUsd } from "../kernel/core/money.ts";
import { systemClock } from "../kernel/core/time.ts";
import type { Backend } from "./open-backend.ts";
import { openAbuseMonitor } from "./open-serving.ts";

describe("open serving", () => {
  const MANIFESTS = ["simulator-a", "simulator-images", "simulator-videos", "simulator-decisions"];
  const manifests = MANIFESTS.map((name) => {
    const file = join(import.meta.dirname, "../../manifests", `${name}.json`);
    return JSON.parse(readFileSync(file, "utf8")) as object;
  });

  /** `Deadlines` notices due work at most this many milliseconds late. */
  const TICK_MS = 50;

  // The fake timers also replace the functions from which the program reads its clocks.
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  interface Call {
    readonly kind: () => CallKind<never>;
    readonly body: object;
  }

  function kindOf<R extends CallRequest>(make: () => CallKind<R>): () => CallKind<never> {
    return make as unknown as () => CallKind<never>;
  }

  const messages = [{ role: "user", content: "hi" }];
  const chat = kindOf(() => chatOn(wires.get("wire_a"), wires));
  const CALLS = {
    chat: { kind: chat, body: { model: "sim/echo-a", messages } },
    stream: { kind: chat, body: { model: "sim/echo-a", messages, stream: true } },
    image: { kind: kindOf(() => images), body: { model: "sim/image", prompt: "a cat" } },
    video: { kind: kindOf(() => videos), body: { model: "sim/video", prompt: "a cat" } },
    decision: {
      kind: kindOf(() => decisions),
      body: {
        model: "sim/decide",
        state: "The shop is down.",
        questions: { urgent: { schema: { type: "boolean" }, instructions: "Is it urgent?" } },
      },
    },
  } as const satisfies Record<string, Call>;

  /** Sends one call to a provider that has not answered yet. */
  async function dispatched({ kind, body }: Call) {
    const { deps, sent } = openRecipe(systemClock, manifests);
    const client = new RecordedExchange(body);
    void serveCall(deps, client, kind());
    await promisesOnly();
    expect(client.refusal).toBeUndefined();
    const [call] = sent;
    if (call === undefined) throw new Error("nothing was dispatched");
    return { call, client, sent };
  }

  async function expectTimeout(client: RecordedExchange): Promise<void> {
    await vi.advanceTimersByTimeAsync(TICK_MS + 1);
    expect(client).toMatchObject({
      attempts: 1,
      refusal: { class: "upstream_error", status: 504, origin: "upstream", retryable: true },
    });
  }

  describe("without a setting, a provider may take", () => {
    test.each([
      ["20 s to the first headers of a stream", CALLS.stream, 20_000],
      ["450 s for a whole chat answer", CALLS.chat, 450_000],
      ["450 s for images", CALLS.image, 450_000],
      ["60 s to accept a video", CALLS.video, 60_000],
      ["60 s for decisions", CALLS.decision, 60_000],
    ] as const)("%s", async (_what, kind, limitMs) => {
      const { client } = await dispatched(kind);
      await vi.advanceTimersByTimeAsync(limitMs - 1);
      expect(client.refusal).toBeUndefined();
      await expectTimeout(client);
    });

    test.each([
      ["450 s for a whole chat answer that trickles", CALLS.chat, 450_000],
      ["60 s for decisions that trickle", CALLS.decision, 60_000],
    ] as const)("%s", async (_what, kind, limitMs) => {
      const { call, client } = await dispatched(kind);
      call.headers(200, { "content-type": "application/json" });
      for (let ms = 0; ms < limitMs - 1_000; ms += 1_000) {
        call.data(" ");
        await vi.advanceTimersByTimeAsync(1_000);
      }
      await vi.advanceTimersByTimeAsync(999);
      expect(client.refusal).toBeUndefined();
      await expectTimeout(client);
    });

    test("450 s to the first content of a stream that sends comments only", async () => {
      const { call, client } = await streamOfComments(449);
      expect(client.text).not.toContain("error");
      call.data(": alive\n\n");
      await vi.advanceTimersByTimeAsync(1_000 + TICK_MS);
      // The status 200 was sent long before, so the error arrives as an event of the stream.
      expect(client.text).toContain('"error_type":"upstream_error"');
      expect(client.refusal).toBeUndefined();
    });

    test("an hour for a stream that has content and continues", async () => {
      const { call, client } = await streamOfComments(0);
      for (let seconds = 0; seconds < 3_600; seconds += 100) {
        call.data('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n');
        expect(client.text).not.toContain("error");
        await vi.advanceTimersByTimeAsync(100_000);
      }
      await vi.advanceTimersByTimeAsync(TICK_MS);
      expect(client.text).toContain('"error_type":"upstream_error"');
    });
  });

  test("a client of a silent provider gets keep-alives from 45 s on, and no retry after a break", async () => {
    const { call, client, sent } = await streamOfComments(44);
    expect(client.text).toBe("");
    await vi.advanceTimersByTimeAsync(1_000 + TICK_MS);
    expect(client.text).toBe(": keep-alive\n\n");
    await vi.advanceTimersByTimeAsync(30_000);
    expect(client.text.length).toBeGreaterThan(2 * ": keep-alive\n\n".length);
    call.breaks("ECONNRESET");
    await promisesOnly();
    expect(client.text).toContain('"error_type":"upstream_error"');
    expect(sent).toHaveLength(1);
  });

  /** A stream whose provider answers at once and sends one comment a second. */
  async function streamOfComments(seconds: number) {
    const started = await dispatched(CALLS.stream);
    started.call.headers(200, { "content-type": "text/event-stream" });
    for (let passed = 0; passed < seconds; passed += 1) {
      started.call.data(": alive\n\n");
      await vi.advanceTimersByTimeAsync(1_000);
    }
    return started;
  }
});

function guardWith(flags: Partial<Record<SettingName, string | number>>): AbuseMonitor {
  const outcome = loadConfig({ flags, env: {} });
  const { config } = outcome as { config: Config };
  const backend = {} as Pick<Backend, "usageHoldStore">;
  return openAbuseMonitor({ config, clock: systemClock, log: { warn: () => undefined }, backend });
}

test("unusual use is monitored by default, and not with a window of 0 seconds", () => {
  expect(guardWith({})).toBeInstanceOf(TrialAbuseMonitor);
  expect(guardWith({ unusualUseWindowSeconds: 0 })).toBe(NO_ABUSE_MONITOR);
});

test("thresholds of unusual use that are set to 0 refuse no request", () => {
  const monitor = guardWith({
    unusualUseRefusedRequests: 0,
    unusualUseClientAddresses: 0,
    unusualUseErrorPercent: 0,
    unusualUseSpendUsd: "",
  });
  const rules = { isTrial: true, abuseRestrictions: [] };
  const principal = { orgId: "org_1", rules } as unknown as Principal;
  const request = { principal, family: "chat", clientAddress: "203.0.113.7" } as const;
  const nowMs = systemClock.nowMs();
  for (let n = 0; n < 300; n += 1) {
    monitor.note({ ...request, outcome: "failed", debitMicroUsd: microUsd(1_000_000n) }, nowMs);
  }
  expect(monitor.refuse(principal, "chat", nowMs)).toBeUndefined();
});
