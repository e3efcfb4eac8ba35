import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { AnswerReader } from "./answer-reader.ts";
import { chatBody } from "./chat-bodies.ts";
import { CANNED_ANSWERS } from "./mock-answers.ts";
import { parseOptions } from "./options.ts";
import type { BenchResults, Figure } from "./results.ts";
import { markdownTable } from "./table.ts";
import type { TargetId } from "./targets/target.ts";

describe("the request bodies", () => {
  for (const wire of ["wire_a", "wire_b"] as const) {
    for (const bodyBytes of [1_024, 20_480, 204_800]) {
      test(`a ${wire} body of ${bodyBytes} bytes is that long and ends with a question`, () => {
        const body = chatBody({ wire, model: "m", bodyBytes, stream: true });
        const printed = JSON.parse(body) as { readonly messages: { readonly role: string }[] };
        expect(Math.abs(Buffer.byteLength(body) - bodyBytes)).toBeLessThan(100);
        expect(printed.messages.at(-1)?.role).toBe("user");
      });
    }
  }
});

describe("the answer reader", () => {
  for (const wire of ["wire_a", "wire_b"] as const) {
    const { json, streamOpening, streamEvent, streamClosing } = CANNED_ANSWERS[wire];

    test(`a ${wire} stream counts its events once, however its bytes are cut between them`, () => {
      const cut = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 });
      fc.assert(
        fc.property(cut, (groups) => {
          const reader = new AnswerReader();
          reader.feed(streamOpening);
          const before = reader.events;
          for (const size of groups) reader.feed(Buffer.concat(Array(size).fill(streamEvent)));
          expect(reader.events - before).toBe(groups.reduce((sum, size) => sum + size, 0));
          expect(reader.done).toBe(false);
          reader.feed(streamClosing);
          expect(reader.done).toBe(true);
        }),
      );
    });

    test(`a ${wire} answer is done at its last byte and not before, wherever it is cut`, () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: json.length - 1 }), (at) => {
          const reader = new AnswerReader();
          reader.feed(json.subarray(0, at));
          expect(reader.done).toBe(false);
          reader.feed(json.subarray(at));
          expect(reader).toMatchObject({ done: true, status: 200, excerpt: "" });
        }),
      );
    });

    test(`a ${wire} stream event is about 290 bytes on the wire`, () => {
      expect(streamEvent.length).toBeGreaterThan(285);
      expect(streamEvent.length).toBeLessThan(305);
    });
  }
});

describe("the table", () => {
  const cases = [
    { gateway: 29, portkey: 900, word: "stretch" },
    { gateway: 50, portkey: 900, word: "reach" },
    { gateway: 70, portkey: 900, word: "no" },
    { gateway: 50, portkey: 400, word: "no" },
    { gateway: 50, portkey: undefined, word: "?" },
  ];
  for (const { gateway, portkey, word } of cases) {
    test(`gateway ${gateway}, nginx 15, Portkey ${portkey ?? "absent"} is "${word}"`, () => {
      const rivals = portkey === undefined ? [] : [figure("portkey", portkey)];
      const table = markdownTable(
        run([figure("gateway", gateway), figure("nginx", 15), ...rivals]),
      );
      expect(table.split("\n").at(-1)).toMatch(
        new RegExp(`\\| ${word === "?" ? "\\?" : word} \\|$`),
      );
    });
  }
});

test("an option that names no row, no target or no number is refused by name", () => {
  expect(() => parseOptions(["--only", "nothing"])).toThrow("--only nothing");
  expect(() => parseOptions(["--targets", "apache"])).toThrow("apache");
  expect(() => parseOptions(["--rounds", "none"])).toThrow("--rounds");
});

function figure(target: TargetId, value: number): Figure {
  const rest = { helpersMedian: 0, perSecondMedian: 0, p99Median: 0 };
  return { target, min: value, median: value, values: [value], ...rest };
}

function run(figures: readonly Figure[]): BenchResults {
  return {
    format: 1,
    date: "2026-01-01",
    node: "20.0.0",
    machine: { cpu: "any", cores: 2, kernel: "any", loadAverageAtStart: 0 },
    command: "npm run bench",
    settings: {},
    targets: [],
    absent: [],
    rows: [{ work: "1kb-same", unit: "us/request", figures }],
  };
}
