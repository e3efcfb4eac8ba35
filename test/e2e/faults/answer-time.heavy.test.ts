import { describe, expect, test } from "vitest";

import {
  ANSWER_BYTES_MAX,
  DECISION_ANSWER_BYTES_MAX,
  ERROR_BODY_BYTES_MAX,
  IMAGE_ANSWER_OTHER_BYTES_MAX,
} from "../../../src/kernel/core/constants.ts";
import { openDecisionAnswer } from "../../../src/formats/modality/decisions/open-answer.ts";
import {
  chunks,
  costUsd,
  delta,
  openJson,
  openStream,
  requestId,
  toolDelta,
} from "../../fixtures/modality/answer-kit.ts";
import { buildDeployment, encode, readBody } from "../../fixtures/modality/request-kit.ts";
import { openBridge } from "../../fixtures/images/image-kit.ts";
import { readJob } from "../../../src/formats/modality/videos/read-job.ts";
import type { AnswerBridge } from "../../../src/formats/wire/answer/answer-bridge.ts";
import { classifyFailure } from "../../../src/formats/wire/failure/classify-failure.ts";
import { quickOrDeep } from "../../support/depth.ts";

/*
 * While one piece of an answer or request is read, all other requests wait. Each such step is
 * measured by the clock or in processor time, whichever is less. The slowest takes about 100 ms on
 * an idle machine and 700 ms on a busy one; a step that does too much work takes many seconds. The
 * fastest of a few runs counts.
 */
const STEP_MS_MAX = 2_500;
const RUNS = 4;
/** The most bytes that one read of a socket returns. */
const PIECE_BYTES = 65_536;

function stepMs(step: () => void): number {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  step();
  const clockMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  return Math.min(clockMs, (user + system) / 1_000);
}

/** Measures reading an answer and writing the client's: the longest step, and all of them. */
function costOf(bridge: AnswerBridge, body: Buffer): { longestMs: number; wholeMs: number } {
  let longest = 0;
  let whole = 0;
  const timed = (step: () => void): void => {
    const ms = stepMs(step);
    longest = Math.max(longest, ms);
    whole += ms;
  };
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    timed(() => {
      bridge.push(body.subarray(at, at + PIECE_BYTES));
      bridge.takeOutput();
    });
  }
  timed(() => bridge.end());
  if (bridge.state === "complete") timed(() => void bridge.finish(costUsd));
  return { longestMs: longest, wholeMs: whole };
}

function longestMs(bridge: AnswerBridge, body: Buffer): number {
  return costOf(bridge, body).longestMs;
}

/** The wires of the clients: both, or in a quick run only the one that needs a translation. */
function clientsOf(upstream: "wire_a" | "wire_b"): readonly ("wire_a" | "wire_b")[] {
  const [other, same] =
    upstream === "wire_a" ? (["wire_b", "wire_a"] as const) : (["wire_a", "wire_b"] as const);
  return quickOrDeep([other], [other, same]);
}

function expectQuick(measure: () => number): void {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && fastest > STEP_MS_MAX; run += 1) {
    fastest = Math.min(fastest, measure());
  }
  expect(fastest).toBeLessThan(STEP_MS_MAX);
}

/** Repeats `item` between `before` and `after`, as often as fits into `bytesMax`. */
function filled(
  [before, after]: readonly [string, string],
  item: string,
  bytesMax: number,
): Buffer {
  const room = bytesMax - before.length - after.length - item.length - 1;
  const count = Math.max(0, Math.floor(room / Buffer.byteLength(item)));
  return Buffer.from(before + item.repeat(count) + after);
}

const ITEMS: readonly (readonly [string, string])[] = [
  ["brackets", "["],
  ["empty objects", "{},"],
  ["nested lists", `${"[".repeat(50)}${"]".repeat(50)},`],
  ["texts", '"ab",'],
  ["members", '{"a":1,"b":2},'],
  ["blanks", " "],
];
/** Texts with which a JSON string is filled. */
const TEXTS: readonly (readonly [string, string])[] = [
  ["quotes", String.raw`\"`],
  ["control characters", String.raw`\u0001`],
  ["letters", "x"],
  ["sentences about a policy", "violation violat our polic "],
];

const A_REST = `{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",`;
const B_REST = `{"type":"message","role":"assistant","model":"m","stop_reason":"end_turn","content":[`;
const CALL = `"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\\"a\\":[`;
type Frame = readonly [string, string];
const A_LIST: Frame = [`${A_REST}"content":"x","more":[`, "0]}}]}"];
const B_LIST: Frame = [`${B_REST}{"type":"tool_use","id":"a","name":"f","input":{"a":[`, "0]}}]}"];
const ERROR_TEXT: Frame = ['{"error":{"code":"x","message":"', '"}}'];

const WHOLE: readonly (readonly [string, "wire_a" | "wire_b", Frame, string])[] = [
  ...ITEMS.map(([what, item]) => [what, "wire_a", A_LIST, item] as const),
  ...ITEMS.map(([what, item]) => [what, "wire_b", B_LIST, item] as const),
  ["empty objects of many calls", "wire_a", [A_REST + CALL, '0]}"}}]}}]}'], "{},"],
  ...TEXTS.flatMap(([what, text]) => [
    [`a text of ${what}`, "wire_a", [`${A_REST}"content":"`, '"}}]}'], text] as const,
    [`a text of ${what}`, "wire_b", [`${B_REST}{"type":"text","text":"`, '"}]}'], text] as const,
    [`an error of ${what}`, "wire_a", ERROR_TEXT, text] as const,
  ]),
];

test.each(WHOLE)(
  "each step of reading a whole answer with %s from %s takes less than 2.5 s",
  (_what, upstream, frame, item) => {
    const body = filled(frame, item, ANSWER_BYTES_MAX);
    for (const client of clientsOf(upstream)) {
      expectQuick(() => longestMs(openJson({ client, upstream }), body));
    }
  },
);

const LOGPROBS: typeof ITEMS = [
  ...ITEMS,
  ["alternatives", '{"token":" ab","logprob":-0.125,"bytes":[32,97,98]},'],
];

test.each(LOGPROBS)(
  "log probabilities of %s do not slow down the parsing of the members after them",
  (_what, item) => {
    const part = filled(['"logprobs":{"a":[', "0]}"], item, 8_000_000);
    const after = `${part.toString()},"more":[${"{},".repeat(20_000)}0],"text":"`;
    const body = filled([`${A_REST}"content":"x"},${after}`, '"}]}'], "x", ANSWER_BYTES_MAX);
    for (const client of clientsOf("wire_a")) {
      expectQuick(() => longestMs(openJson({ client, upstream: "wire_a" }), body));
    }
  },
);

test("a hundred tool calls with thirty megabytes of arguments are read in short steps", () => {
  const call = `{"id":"a","function":{"name":"f","arguments":"{\\"a\\":[${"{},".repeat(100_000)}0]}"}}`;
  const body = Buffer.from(`${A_REST}"tool_calls":[${Array(100).fill(call).join(",")}]}}]}`);
  expectQuick(() => longestMs(openJson({ client: "wire_b", upstream: "wire_a" }), body));
});

/** Two megabytes or more of fragments of tool calls. */
function fragments(make: (at: number) => object): Buffer {
  const count = 20_000;
  const made = Array.from({ length: count }, (_, at) => toolDelta(undefined, make(at)));
  return Buffer.from(chunks(delta({ role: "assistant" }), ...made));
}

const arguments_ = "x".repeat(40);
const STREAMS: readonly (readonly [string, Buffer])[] = [
  [
    "fragments with a name and no index",
    fragments((at) => ({
      function: { name: "f", arguments: at === 0 ? '{"a":"' : arguments_ },
    })),
  ],
  ["a new id in each fragment", fragments((at) => ({ id: `c${at}`, function: { name: "f" } }))],
  [
    "the ids of a thousand calls over and over",
    fragments((at) => ({ id: `c${at % 1_000}`, function: { name: "f", arguments: arguments_ } })),
  ],
  ["an event of brackets", Buffer.from(`data: {"a":${"[".repeat(1_000_000)}\n\n`)],
  [
    "an event of four megabytes of empty objects",
    Buffer.from(`data: {"a":[\n${`data: ${"{},".repeat(300_000)}\n`.repeat(4)}data: 0]}\n\n`),
  ],
];

describe.each(["wire_a", "wire_b"] as const)(
  "each step of a stream takes less than 2.5 s for a client of %s",
  (client) => {
    test.each(STREAMS)("%s", (_what, body) => {
      expectQuick(() => {
        const cost = costOf(openStream({ client, upstream: "wire_a" }), body);
        // Work that grows with what was read before can be short in each step, but not in the sum.
        return Math.max(cost.longestMs, cost.wholeMs / 4);
      });
    });
  },
);

test("an image answer with thousands of entries that mention policies is read in short steps", () => {
  const spoken = "violation violat our polic ".repeat(300).slice(0, 8_100);
  const long = Array.from({ length: 120 }, () => `{"message":"${spoken}"}`).join(",");
  const many = Array.from({ length: 40_000 }, () => '{"message":"violat"}').join(",");
  for (const entries of [long, many]) {
    const body = Buffer.from(`{"data":[${entries}]}`);
    expect(body.length).toBeLessThan(IMAGE_ANSWER_OTHER_BYTES_MAX);
    expectQuick(() => longestMs(openBridge(), body));
  }
});

test("an image of thirty megabytes is read in short steps", () => {
  const body = Buffer.from(`{"data":[{"b64_json":"iVBORw0KGgo${"A".repeat(40_000_001)}"}]}`);
  expectQuick(() => longestMs(openBridge(), body));
});

test("a decisions answer with deeply nested envelopes is read in short steps", () => {
  const decisions = {
    wire: "systemone",
    path: "/decide",
    isStatePerQuestion: false,
    readsImages: false,
    form: "as_sent",
  } as const;
  const deployment = buildDeployment("wire_a", { modality: "decisions", decisions });
  const question = { wire: "systemone", id: "q", kind: "noul" } as const;
  const asked = { ...question, asked: "noul", instructions: "?", criteria: undefined } as const;
  const open = (): AnswerBridge =>
    openDecisionAnswer({
      request: { questions: [asked] },
      deployment,
      requestId,
      createdSeconds: 1_800_000_000,
    });
  let nested = "end";
  while (nested.length < 1_000_000) {
    nested = `{"message":${JSON.stringify(nested).replaceAll("\\", String.raw`\u005c`)}}`;
  }
  expectQuick(() => longestMs(open(), Buffer.from(`{"error":${nested}}`)));
  for (const [, item] of ITEMS) {
    const frame = ['{"answers":{"q":{"noul":1,"note":[', "0]}}}"] as const;
    expectQuick(() => longestMs(open(), filled(frame, item, DECISION_ANSWER_BYTES_MAX)));
  }
});

test("a failed answer and a video job are each read in a short step", () => {
  for (const [, item] of [...TEXTS, ...ITEMS]) {
    const body = filled(['{"error":{"message":"', '"}}'], item, ERROR_BODY_BYTES_MAX);
    expectQuick(() => stepMs(() => classifyFailure({ status: 400, headers: {}, body })));
    expectQuick(() => stepMs(() => readJob(filled(['{"a":[', "0]}"], item, 1_000_000))));
  }
});

describe("a request of nine and a half megabytes", () => {
  test.each([
    ["blanks", " "],
    ["lines", String.raw`\n`],
  ])("with %s is translated to the other wire in one short step", (_what, item) => {
    const [before, after] = [
      '{"model":"a","max_tokens":5,"messages":[{"role":"user","content":"',
      'x"}]}',
    ];
    const body = filled([before, after], item, 9_500_000);
    for (const [client, upstream] of [
      ["wire_a", "wire_b"],
      ["wire_b", "wire_a"],
    ] as const) {
      expectQuick(() =>
        stepMs(() => {
          const read = readBody(client, body);
          if (!read.ok) throw new Error(read.refusal.message);
          encode(read.request, buildDeployment(upstream));
        }),
      );
    }
  });
});
