import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { splitAt } from "../../../../test/fixtures/modality/answer-kit.ts";
import { SSE_EVENT_BYTES_MAX, SSE_LINE_BYTES_MAX } from "../../../kernel/core/constants.ts";
import { frameAt, RepeatedEvent, sseCommentText, sseEventText, SseReader } from "./sse.ts";

interface Read {
  readonly events: readonly (readonly [string, string])[];
  readonly fault: string | undefined;
}

function readAll(pieces: readonly Buffer[]): Read {
  const events: [string, string][] = [];
  const reader = new SseReader(({ name, data }) => events.push([name, data.toString("utf8")]));
  for (const piece of pieces) reader.push(piece);
  return { events, fault: reader.end() };
}

function read(...texts: readonly string[]): Read["events"] {
  return readAll(texts.map((text) => Buffer.from(text))).events;
}

describe("framing", () => {
  test.each([
    ["line feeds", "event: a\ndata: 1\n\ndata: 2\n\n"],
    ["carriage return and line feed", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n"],
    ["lone carriage returns", "event: a\rdata: 1\r\rdata: 2\r\r"],
    ["a byte order mark", "\uFEFFevent: a\ndata: 1\n\ndata: 2\n\n"],
    ["no space behind the colon", "event:a\ndata:1\n\ndata:2\n\n"],
    ["comments, ids and others", ": hi\nid: 4\nevent: a\nx\ndata: 1\nretry: 3\n\n:\ndata: 2\n\n"],
    ["no blank line behind the last event", "event: a\ndata: 1\n\ndata: 2"],
  ])("reads the same events with %s, split at any byte", (_name, text) => {
    const bytes = Buffer.from(text);
    const whole = [
      ["a", "1"],
      ["", "2"],
    ];
    for (let at = 0; at <= bytes.length; at++) {
      expect(readAll([bytes.subarray(0, at), bytes.subarray(at)]).events).toEqual(whole);
    }
    expect(readAll([...bytes].map((byte) => Buffer.from([byte]))).events).toEqual(whole);
  });

  test("joins several data lines with a line feed and keeps a second leading space", () => {
    expect(read("data: a\ndata\ndata:  b\n\n")).toEqual([["", "a\n\n b"]]);
  });

  test("skips events without data and forgets their name", () => {
    expect(read("event: ping\n\ndata:\n\ndata: 1\n\n")).toEqual([["", "1"]]);
  });

  test("gives an event inside one piece as a view, without a copy", () => {
    const bytes = Buffer.from("data: 1\n\n");
    let data: Buffer | undefined;
    new SseReader((event) => (data = event.data)).push(bytes);
    expect(data?.buffer).toBe(bytes.buffer);
  });
});

describe("bounds", () => {
  test("end an endless line with a fault before more than the bound is read", () => {
    const piece = Buffer.alloc(64 * 1024, 97);
    let fed = 0;
    const reader = new SseReader(() => undefined);
    while (reader.push(piece) === undefined) fed += piece.length;
    expect(fed).toBeLessThanOrEqual(SSE_LINE_BYTES_MAX);
    expect(reader.push(Buffer.from("\n\ndata: 1\n\n"))).toBe("line_too_long");
    expect(reader.end()).toBe("line_too_long");
  });

  test("allow a line at the bound, and one byte more is a fault", () => {
    const line = `data: ${"a".repeat(SSE_LINE_BYTES_MAX - 6)}`;
    expect(readAll([Buffer.from(`${line}\n\n`)]).events).toHaveLength(1);
    expect(readAll([Buffer.from(`${line}a\n\n`)])).toEqual({ events: [], fault: "line_too_long" });
  });

  test("hold for an event of many lines too, empty lines included", () => {
    const lines = Buffer.from(`data: ${"a".repeat(1_000)}\n`.repeat(64));
    let fed = 0;
    const reader = new SseReader(() => undefined);
    while (reader.push(lines) === undefined) fed += lines.length;
    expect(fed).toBeLessThanOrEqual(SSE_EVENT_BYTES_MAX + lines.length);
    const empty = new SseReader(() => undefined);
    const blanks = Buffer.from("data\n".repeat(1_000_000));
    let fault: string | undefined;
    for (let i = 0; i < 6 && fault === undefined; i++) fault = empty.push(blanks);
    expect(fault).toBe("event_too_long");
  });
});

test("any stream is read as it was written, for any split of the bytes", () => {
  const event = fc.record({
    name: fc.constantFrom("", "ping", "message_start"),
    data: fc.string({ unit: "binary", minLength: 1 }).map((text) => text.replaceAll("\r", "\n")),
  });
  fc.assert(
    fc.property(fc.array(event), fc.array(fc.nat(40)), (list, cuts) => {
      const text = list.map(({ name, data }) => sseCommentText("x") + sseEventText(name, data));
      const bytes = Buffer.from(text.join(""));
      const expected = list.map(({ name, data }) => [name, Buffer.from(data).toString()]);
      expect(readAll(splitAt(bytes, cuts)).events).toEqual(expected);
    }),
  );
});

function learned(): RepeatedEvent {
  const repeated = new RepeatedEvent();
  const frame = frameAt('{"text":"first","more":1}', { start: 8, end: 15 });
  if (frame !== undefined) repeated.learn(frame);
  return repeated;
}

test.each(["second", " ", "grüße 🙂", "{[:,"])(
  "an event that differs from the previous one only in its text %j is recognized as repeated",
  (text) => {
    expect(learned().textIn(`{"text":"${text}","more":1}`)).toBe(text);
  },
);

test.each([
  ["a text that is empty", '{"text":"","more":1}'],
  ["an escape", '{"text":"a\\nb","more":1}'],
  ["a quote, which ends the text", '{"text":"a","text":"b","more":1}'],
  ["a control character, which JSON forbids", '{"text":"a\nb","more":1}'],
  ["another value after the text", '{"text":"a","more":2}'],
  ["a beginning and an end that overlap", '{"text":"","more":1}'.replace('""', '"')],
])("an event with %s is not recognized as repeated", (_name, event) => {
  expect(learned().textIn(event)).toBeUndefined();
});

test("an event of several lines is not learned as a repeatable event", () => {
  expect(frameAt('{\n"text":"first"}', { start: 9, end: 16 })).toBeUndefined();
});
