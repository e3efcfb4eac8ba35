import { expect, test } from "vitest";

import { frameAt, RepeatedEvent } from "./sse.ts";

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
