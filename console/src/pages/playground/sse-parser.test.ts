import * as fc from "fast-check";
import { expect, test } from "vitest";

import { SseParser } from "./sse-parser.ts";

function parse(fragments: readonly string[]): readonly string[] {
  const parser = new SseParser();
  return fragments.flatMap((fragment) => parser.push(fragment));
}

test("the parsed events do not depend on where the stream is split or on its line endings", () => {
  const data = fc.array(fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n]/g, "")));
  const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(data, lineEnd, fc.array(fc.nat(2_000)), (events, end, cuts) => {
      const stream = events.map((each) => `: note${end}data: ${each}${end}${end}`).join("");
      const marks = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
      const fragments = marks.slice(1).map((mark, at) => stream.slice(marks[at], mark));
      expect(parse(fragments)).toEqual(events);
    }),
  );
});

test("several data lines are one event, and other fields are ignored", () => {
  expect(parse(["event: x\nid: 1\ndata: a\ndata:b\n\n: ping\n\ndata: c\n\n"])).toEqual([
    "a\nb",
    "c",
  ]);
});

test("an incomplete event is not returned", () => {
  expect(parse(["data: half"])).toEqual([]);
  expect(parse(["data: half\n"])).toEqual([]);
});
