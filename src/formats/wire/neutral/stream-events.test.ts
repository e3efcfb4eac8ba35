import { describe, expect, test } from "vitest";

import { frameAt, RepeatedEvent } from "./stream-events.ts";

const EVENT = '{"text":"first","more":1}';
const SPAN = { start: 8, end: 15 };

function learned(): RepeatedEvent {
  const repeated = new RepeatedEvent();
  const frame = frameAt(EVENT, SPAN);
  if (frame !== undefined) repeated.learn(frame);
  return repeated;
}

describe("an event like the one before", () => {
  test("is recognized, whatever its text is", () => {
    for (const text of ["second", " ", "grüße 🙂", "{[:,"]) {
      expect(learned().textIn(`{"text":"${text}","more":1}`)).toBe(text);
    }
  });

  test.each([
    ["a text that is empty", '{"text":"","more":1}'],
    ["an escape", '{"text":"a\\nb","more":1}'],
    ["a quote, which ends the text", '{"text":"a","text":"b","more":1}'],
    ["a control character, which JSON forbids", '{"text":"a\nb","more":1}'],
    ["another value behind", '{"text":"a","more":2}'],
    ["ends that overlap", '{"text":"","more":1}'.replace('""', '"')],
  ])("is not one with %s", (_name, event) => {
    expect(learned().textIn(event)).toBeUndefined();
  });

  test("is not recognized in an event of several lines", () => {
    expect(frameAt('{\n"text":"first"}', { start: 9, end: 16 })).toBeUndefined();
  });

  test("is no longer learned from a provider that varies more than the text", () => {
    const repeated = learned();
    const frame = { before: '{"text":"', after: '","more":1}' };
    for (let i = 0; i < 3; i++) repeated.learn(frame);
    expect(repeated.isLearning).toBe(false);
    expect(repeated.textIn(EVENT)).toBe("first");
    expect(repeated.isLearning).toBe(true);
  });
});
