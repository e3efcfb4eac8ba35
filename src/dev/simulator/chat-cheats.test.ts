import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CheatName } from "./cheats.ts";
import {
  chatBody,
  postChat,
  readChat,
  type ChatAsk,
  type ChatSeen,
  type ChatWire,
} from "./fixtures/chat-client.ts";
import { callHost, type HostAnswer } from "./fixtures/host-client.ts";
import { startSimulator, type Simulator } from "./simulator.ts";

const WIRES = ["wire_a", "wire_b"] as const;
const NOW_MS = 1_795_000_000_000;

let simulator: Simulator;

beforeAll(async () => {
  const clock = { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS };
  simulator = await startSimulator({ port: 0, host: "127.0.0.1", clock });
});
afterAll(() => simulator.close());

interface Order {
  readonly fault?: string;
  readonly key?: string;
}

/** Every call is the first one: the same request gets the same bytes. */
async function send(wire: ChatWire, body: unknown, order: Order = {}): Promise<HostAnswer> {
  await callHost(`${simulator.url}/calls/reset`, { method: "POST" });
  return await postChat(simulator.url, wire, { body, ...order });
}

async function ask(wire: ChatWire, asked: ChatAsk, cheat?: CheatName): Promise<ChatSeen> {
  const order = cheat === undefined ? {} : { fault: `cheat:${cheat}` };
  return readChat(wire, await send(wire, chatBody(wire, asked), order));
}

/** What a cheat makes of an honest answer. */
interface CheatCase {
  readonly cheat: CheatName;
  readonly asked: ChatAsk;
  /** The other kind of answer is honest. */
  readonly only?: "stream" | "whole";
  readonly change: (honest: ChatSeen, wire: ChatWire) => ChatSeen;
}

const ENDED: Readonly<Record<ChatWire, string>> = { wire_a: "stop", wire_b: "end_turn" };
const CUT: Readonly<Record<ChatWire, string>> = { wire_a: "length", wire_b: "max_tokens" };
const LONG = Array.from({ length: 100 }, (_item, n) => `word${n + 1}`).join(" ");
const long: ChatAsk = { text: "[words:100]", maxTokens: 5 };
const short: ChatAsk = { text: "a prompt of some length" };

function withUsage(seen: ChatSeen, more: Partial<NonNullable<ChatSeen["usage"]>>): ChatSeen {
  return seen.usage === undefined ? seen : { ...seen, usage: { ...seen.usage, ...more } };
}

function promptOf({ usage }: ChatSeen): number {
  return usage?.prompt ?? Number.NaN;
}

const CASES: readonly CheatCase[] = [
  {
    cheat: "bound-ignored",
    asked: long,
    change: (honest, wire) => {
      const output = Math.ceil(LONG.length / 4);
      return withUsage({ ...honest, text: LONG, finish: ENDED[wire] }, { output });
    },
  },
  {
    cheat: "bound-off-by-one",
    asked: long,
    change: (honest) => withUsage({ ...honest, text: LONG.slice(0, 24) }, { output: 6 }),
  },
  {
    cheat: "bound-off-by-one",
    // An answer of one token more than its bound is whole, and says all the same that it was cut.
    asked: { text: "123456", maxTokens: 3 },
    change: (honest) => withUsage({ ...honest, text: "You said: 123456" }, { output: 4 }),
  },
  {
    cheat: "stop-leaked",
    asked: { text: "one END two", stop: "END" },
    change: (honest) => withUsage({ ...honest, text: "You said: one END" }, { output: 5 }),
  },
  {
    cheat: "length-as-stop",
    asked: long,
    change: (honest, wire) => ({ ...honest, finish: ENDED[wire] }),
  },
  {
    cheat: "usage-plus-10-percent",
    asked: { text: "x".repeat(396) },
    change: (honest) => withUsage(honest, { prompt: 110 }),
  },
  {
    cheat: "usage-plus-constant",
    asked: short,
    change: (honest) => withUsage(honest, { prompt: promptOf(honest) + 100 }),
  },
  {
    cheat: "usage-cached-over-prompt",
    asked: short,
    change: (honest) => withUsage(honest, { cached: promptOf(honest) + 10 }),
  },
  {
    cheat: "usage-differs-in-stream",
    asked: short,
    only: "stream",
    change: (honest) => withUsage(honest, { prompt: promptOf(honest) + 5 }),
  },
  {
    cheat: "usage-missing-in-stream",
    asked: short,
    only: "stream",
    change: (honest) => ({ ...honest, usage: undefined }),
  },
  {
    cheat: "tool-arguments-broken-in-stream",
    asked: { text: "hi", tool: "get_weather" },
    only: "stream",
    change: (honest) => ({ ...honest, calls: ['{"city":"sa'] }),
  },
  {
    cheat: "model-in-stream",
    asked: short,
    only: "stream",
    change: (honest) => ({ ...honest, models: ["another-model"] }),
  },
  {
    cheat: "model-whole",
    asked: short,
    only: "whole",
    change: (honest) => ({ ...honest, models: ["another-model"] }),
  },
  {
    cheat: "model-fake-date",
    asked: short,
    change: (honest) => ({ ...honest, models: ["m-20261399"] }),
  },
  {
    cheat: "two-end-marks",
    asked: short,
    only: "stream",
    change: (honest) => ({ ...honest, tail: [...honest.tail, ...honest.tail] }),
  },
];

const everyCase = CASES.flatMap((each) => WIRES.map((wire) => ({ ...each, wire })));

describe("a cheat changes what its sentence says, and nothing else", () => {
  test.each(everyCase)("$cheat on $wire", async ({ cheat, asked, only, change, wire }) => {
    for (const stream of [false, true]) {
      const honest = await ask(wire, { ...asked, stream });
      const isChanged = only === undefined || (only === "stream") === stream;
      const expected = isChanged ? change(honest, wire) : honest;
      expect(await ask(wire, { ...asked, stream }, cheat)).toEqual(expected);
    }
  });

  test.each(WIRES)("text-after-end-mark on %s", async (wire) => {
    const asked = { ...short, stream: true };
    const honest = await ask(wire, asked);
    const cheating = await ask(wire, asked, "text-after-end-mark");
    const [last = ""] = cheating.tail.slice(honest.tail.length);
    expect(cheating).toEqual({ ...honest, tail: [...honest.tail, last] });
    expect(honest.text).toContain(readPiece(last));
    expect(readPiece(last)).not.toBe("");
    const called = { ...asked, tool: "get_weather" };
    expect(await ask(wire, called, "text-after-end-mark")).toEqual(await ask(wire, called));
  });

  test.each(WIRES)("model-once-in-ten on %s", async (wire) => {
    const fault = "cheat:model-once-in-ten";
    const other = await startSimulator({ port: 0, host: "127.0.0.1", fault });
    const models: unknown[] = [];
    for (let n = 1; n <= 20; n += 1) {
      // A refused call is not an answer.
      await postChat(other.url, wire, { body: chatBody(wire, { ...short, model: "unknown" }) });
      const body = chatBody(wire, { ...short, stream: n % 2 === 0 });
      models.push(readChat(wire, await postChat(other.url, wire, { body })).models[0]);
    }
    await other.close();
    const nine = Array.from({ length: 9 }, () => "m");
    expect(models).toEqual([...nine, "another-model", ...nine, "another-model"]);
  });
});

function readPiece(data: string): string {
  return /"(?:content|text)":"([^"]+)"/.exec(data)?.[1] ?? "";
}

describe("what an honest answer promises on both wires", () => {
  test.each(WIRES)(
    "%s: an answer that is cut has exactly as many tokens as its bound",
    async (wire) => {
      for (const stream of [false, true]) {
        for (const maxTokens of [1, 5, 16]) {
          const seen = await ask(wire, { ...long, maxTokens, stream });
          expect(seen).toMatchObject({ finish: CUT[wire], usage: { output: maxTokens } });
          expect(seen.text).toBe(LONG.slice(0, 4 * maxTokens));
        }
      }
    },
  );

  test.each([
    ["wire_a", 2, 2.1],
    ["wire_b", 1, 1.1],
  ] as const)("%s: a temperature of %d is served, one of %d is 400", async (wire, good, bad) => {
    expect((await ask(wire, { ...short, temperature: good })).status).toBe(200);
    expect((await ask(wire, { ...short, temperature: bad })).status).toBe(400);
  });

  test.each(WIRES)("%s: invalid JSON is 400, an unknown model 404", async (wire) => {
    const headers = { "x-api-key": "key", "anthropic-version": "2023-06-01" };
    const path = wire === "wire_a" ? "/v1/chat/completions" : "/v1/messages";
    const init = { method: "POST", headers, body: '{"model":"m","messages":[' };
    expect((await fetch(simulator.url + path, init)).status).toBe(400);
    expect((await ask(wire, { ...short, model: "unknown-x" })).status).toBe(404);
  });

  test.each(WIRES)("%s: about five hundred words have as many", async (wire) => {
    const { text } = await ask(wire, { text: "Write about five hundred words on a lighthouse." });
    expect(text.split(" ")).toHaveLength(500);
  });
});

describe("refusals", () => {
  test.each(WIRES)("wrong-key-accepted on %s", async (wire) => {
    const body = chatBody(wire, short);
    const fault = "cheat:wrong-key-accepted";
    expect((await send(wire, body, { key: "invalid-key" })).status).toBe(401);
    const served = await send(wire, body, { key: "invalid-key", fault });
    expect(served.bytes).toEqual((await send(wire, body)).bytes);
    const customers = { key: `tm_vk_${"a".repeat(48)}`, fault };
    expect((await send(wire, body, customers)).status).toBe(401);
  });

  test.each(WIRES)(
    "unknown-model-served on %s names the model that was asked for",
    async (wire) => {
      const asked = { ...short, model: "unknown-x" };
      expect((await ask(wire, asked)).status).toBe(404);
      const honest = await ask(wire, short);
      const served = await ask(wire, asked, "unknown-model-served");
      expect(served).toEqual({ ...honest, models: ["unknown-x"] });
    },
  );

  test.each(WIRES)("out-of-range-clamped on %s", async (wire) => {
    const fault = "cheat:out-of-range-clamped";
    for (const wrong of [{ temperature: 99 }, { temperature: -1 }, { top_p: 2 }]) {
      const body = chatBody(wire, short);
      expect((await send(wire, { ...body, ...wrong })).status).toBe(400);
      const served = await send(wire, { ...body, ...wrong }, { fault });
      expect(served.bytes).toEqual((await send(wire, body)).bytes);
    }
    const text = { ...chatBody(wire, short), temperature: "hot" };
    expect((await send(wire, text, { fault })).status).toBe(400);
  });

  test.each(WIRES)(
    "errors-as-html on %s keeps the status, and answers as they are",
    async (wire) => {
      const fault = "cheat:errors-as-html";
      const bad = chatBody(wire, { ...short, temperature: 99 });
      const page = await send(wire, bad, { fault });
      expect(page).toMatchObject({ status: 400, headers: { "content-type": "text/html" } });
      expect(page.json).toThrow(SyntaxError);
      const good = chatBody(wire, short);
      expect((await send(wire, good, { fault })).bytes).toEqual((await send(wire, good)).bytes);
    },
  );

  test.each(WIRES)("error-as-500 on %s changes the status of a bad request only", async (wire) => {
    const fault = "cheat:error-as-500";
    for (const wrong of [{ temperature: 99 }, { model: "unknown-x" }]) {
      const bad = chatBody(wire, { ...short, ...wrong });
      const broken = await send(wire, bad, { fault });
      expect(broken.status).toBe(500);
      expect(broken.bytes).toEqual((await send(wire, bad)).bytes);
    }
    const good = chatBody(wire, short);
    expect((await send(wire, good, { fault })).bytes).toEqual((await send(wire, good)).bytes);
    expect((await send(wire, good, { fault, key: "invalid-key" })).status).toBe(401);
  });
});

const PATHS = [
  ["wire_a", "/v1/chat/completions", "/moved/v1/chat/completions"],
  ["wire_b", "/b/v1/messages", "/b-moved/v1/messages"],
] as const;

test.each(PATHS)("redirect on %s leads from %s to %s, which answers", async (wire, path, moved) => {
  const body = chatBody(wire, short);
  const headers = { "x-api-key": "key", "anthropic-version": "2023-06-01" };
  const call = { body, headers, fault: "cheat:redirect" };
  const answer = await callHost(simulator.url + path, call);
  expect(answer).toMatchObject({ status: 307, headers: { location: moved } });
  await callHost(`${simulator.url}/calls/reset`, { method: "POST" });
  const served = await callHost(simulator.url + moved, call);
  expect(served.status).toBe(200);
  expect(served.bytes).toEqual((await send(wire, body)).bytes);
});
