import { describe, expect, test } from "vitest";

import {
  ask,
  askInTwo,
  at,
  eventsOf,
  type Ask,
  type SseEvent,
  type Wire,
} from "../../support/ask.ts";
import { brokenBooks, ended, nothingHeld, until } from "../../support/books.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../../support/gateway.ts";
import { PatientClock } from "../../support/clocks.ts";

const KEEPALIVE_MS = 20;
const IDLE_MS = 300;

/** On this clock only a silent provider reaches the time limits, however busy the machine is. */
const clock = new PatientClock();

/* Each fault has its own listing, so that its failures cool down no other one. */
const FAULTS = [
  { name: "reset", fault: "reset:event:6", class: "upstream_error" },
  { name: "no-end-mark", fault: "no_terminal", class: "upstream_error" },
  { name: "error-event", fault: "error_at_event:6", class: "upstream_error" },
  { name: "half-event", fault: "bad_json_at_event:6", class: "gateway_error" },
  { name: "silence", fault: "hang:event:6", class: "upstream_error" },
] as const;

const WIRES = ["wire_a", "wire_b"] as const;

const gateway = withGateway(() => {
  const names = [...FAULTS.flatMap(({ name }) => [name, `${name}-at-once`]), "well", "second"];
  return {
    clock,
    settings: { keepaliveMs: KEEPALIVE_MS, streamIdleTimeoutMs: IDLE_MS, concurrentRequests: 50 },
    manifests: WIRES.flatMap((dialect) => [
      simulatorManifest({
        provider: dialect.replace("_", "-"),
        dialect,
        models: names.map((name) => textModel(`${name}/${dialect}`)),
      }),
      simulatorManifest({
        provider: `${dialect.replace("_", "-")}-second`,
        dialect,
        priority: 1,
        baseUrl: "{simulator}/second/v1",
        models: [textModel(`second/${dialect}`)],
      }),
    ]),
  };
});
const account = withAccount(gateway, "100");

/** A streamed request to a listing, with the fault in its text. */
function askOf(given: { wire: Wire; upstream: Wire; name: string }, fault: string): Ask {
  const { wire, upstream, name } = given;
  const model = `${name}/${upstream}`;
  const text = fault === "" ? "[words:20]" : `[words:20] [[fault:${fault}]]`;
  return { key: account.key, wire, model, stream: true, text };
}

function isKeepAlive(event: SseEvent): boolean {
  return event.comment !== undefined || event.event === "ping";
}

const CASES = FAULTS.flatMap((fault) =>
  WIRES.flatMap((wire) => WIRES.map((upstream) => ({ ...fault, wire, upstream }))),
);

describe("a stream that dies after output ends with one terminal event and not a byte more", () => {
  test.each(CASES)("$name on $wire from $upstream", async (given) => {
    const { wire, upstream, fault } = given;
    const asked = askOf({ wire, upstream, name: given.name }, `hold:event:6;${fault}`);
    const answer = await askInTwo(gateway.url, asked, gateway.simulator);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("word1");
    const events = eventsOf(answer.text);
    const errors = events.filter(({ json }) => at(json, "error") !== undefined);
    expect(errors).toHaveLength(1);
    expect(events.indexOf(errors[0] ?? ({} as SseEvent))).toBe(events.length - 1);
    if (wire === "wire_a") expectTerminalA(answer.text, given.class);
    else expectTerminalB(answer.text, given.class);
    expect(answer.text).not.toMatch(/\[DONE\]|message_stop|"stop"|end_turn|overloaded_error/i);
    const record = await ended(gateway, account, answer.requestId);
    const timedOut = given.name === "silence";
    expect(record.outcome).toBe(timedOut ? "timeout" : "stream_died");
    // Only the messages wire has reported tokens by then.
    const basis = upstream === "wire_b" ? "partial" : "none";
    expect(record.attempts).toHaveLength(1);
    expect(record.attempts[0]?.basis).toBe(basis);
    expect((record.attempts[0]?.debitMicroUsd ?? 0n) > 0n).toBe(upstream === "wire_b");
    await nothingHeld(gateway, account);
    await until("the provider's sockets are closed", () => gateway.simulator.counts().open === 0);
  });

  function expectTerminalA(text: string, cls: string): void {
    const last = text.slice(text.lastIndexOf("data: ")).trimEnd();
    const chunk: unknown = JSON.parse(last.slice("data: ".length));
    expect(chunk).toMatchObject({
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      error: { code: cls, type: "gateway_error", metadata: { error_type: cls } },
    });
    expect(text.endsWith(`${last}\n\n`)).toBe(true);
  }

  function expectTerminalB(text: string, cls: string): void {
    const last = text.slice(text.lastIndexOf("event: "));
    expect(last).toMatch(/^event: error\ndata: \{.*\}\n\n$/);
    expect(JSON.parse(last.slice(last.indexOf("{")))).toMatchObject({
      type: "error",
      error: { type: "api_error", error_type: cls },
    });
  }
});

const IN_ONE_PIECE = CASES.filter(({ name }) => name === "error-event" || name === "half-event");

describe("a stream that dies in the same chunk as its first content gets an error status or fails over", () => {
  test.each(IN_ONE_PIECE)("$name on $wire from $upstream", async ({ name, fault, ...given }) => {
    const asked = askOf({ ...given, name: `${name}-at-once` }, `one_piece;${fault}`);
    const answer = await ask(gateway.url, asked);
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(at(answer.json, "error")).toBeDefined();
    expect(answer.text).not.toContain("word1");
    const record = await ended(gateway, account, answer.requestId);
    // By then the messages wire has reported the prompt. Only reported usage is paid.
    const isReported = given.upstream === "wire_b" && name === "error-event";
    expect(record.attempts.map(({ basis }) => basis)).toEqual([isReported ? "partial" : "none"]);
    expect(record.attempts.map(({ debitMicroUsd }) => debitMicroUsd > 0n)).toEqual([isReported]);
  });

  test.each(WIRES)("fails over to the next candidate, on %s", async (wire) => {
    const model = `second/${wire}`;
    const path = wire === "wire_a" ? "/a/v1/chat/completions" : "/b/v1/messages";
    const fault = "one_piece;error_at_event:6";
    gateway.simulator.script({ path, model, fault, times: 1 });
    const answer = await ask(gateway.url, askOf({ wire, upstream: wire, name: "second" }, ""));
    expect(answer.status).toBe(200);
    expect(answer.headers["x-tm-attempts"]).toBe("2");
    expect(answer.headers["x-tm-provider"]).toBe(`${wire.replace("_", "-")}-second`);
    const record = await ended(gateway, account, answer.requestId);
    const first = wire === "wire_b" ? "partial" : "none";
    expect(record.attempts.map(({ basis }) => basis)).toEqual([first, "reported"]);
  });
});

describe("keep-alives", () => {
  const ROUTES = WIRES.flatMap((wire) => WIRES.map((upstream) => ({ wire, upstream })));

  test.each(ROUTES)("fill a silence between two events, on $wire from $upstream", async (route) => {
    const { wire, upstream } = route;
    const asked = askOf({ wire, upstream, name: "well" }, "hold:event:6");
    const answer = await askInTwo(
      gateway.url,
      asked,
      gateway.simulator,
      (part) => keepAlivesOf(part.slice(0, part.lastIndexOf("\n\n") + 2)).length >= 4,
    );
    expect(answer.status).toBe(200);
    const kept = keepAlivesOf(answer.text);
    expect(kept.length).toBeGreaterThanOrEqual(4);
    expect(kept.every((event) => isOf(wire, event))).toBe(true);
    const events = eventsOf(answer.text);
    expect(isKeepAlive(events.at(-1) ?? ({} as SseEvent))).toBe(false);
    expect(events.length - kept.length).toBeGreaterThan(3);
  });

  test("a silent stream gets keep-alives until its terminal event, and none after it", async () => {
    const silences = WIRES.map(async (wire) => {
      const answer = await ask(gateway.url, {
        key: account.key,
        wire,
        model: `silence/${wire}`,
        stream: true,
        text: "[words:20] [[fault:hang:event:6]]",
      });
      expect(keepAlivesOf(answer.text).length).toBeGreaterThanOrEqual(2);
      const last = eventsOf(answer.text).at(-1);
      expect(at(last?.json, "error")).toBeDefined();
    });
    await Promise.all(silences);
  });

  function keepAlivesOf(text: string): SseEvent[] {
    return eventsOf(text).filter(isKeepAlive);
  }

  function isOf(wire: Wire, event: SseEvent): boolean {
    if (wire === "wire_a") return event.comment !== undefined && event.data === undefined;
    return event.event === "ping" && at(event.json, "type") === "ping";
  }
});

test("the books balance after all died streams", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
});
