import { expect, test } from "vitest";

import { presentFinding, PROVIDER_TEXT_CHARS_MAX, Redaction } from "./redaction.ts";

test("a text of a provider is one line, bounded, and no character is cut in two", () => {
  const redaction = new Redaction([]);
  expect(redaction.shown("a\nb\u0000c\u202Ed")).toBe("a b c d");
  const long = redaction.shown("😀".repeat(400));
  expect(long.length).toBeLessThanOrEqual(PROVIDER_TEXT_CHARS_MAX);
  expect(long).toMatch(/^(?:😀)+…$/u);
});

test("the run's key, and all that looks like a key, are removed from a provider's text", () => {
  const redaction = new Redaction(["canary-key-1", ""]);
  const shown = redaction.shown("no: canary-key-1 sk-abcdefghijkl Bearer xyz tm_vk_0123456789");
  expect(shown).toBe("no: [removed] [removed] [removed] [removed]");
});

test("a part of the run's key is removed from a provider's text", () => {
  const redaction = new Redaction(["9f3a77c1d2e84b60"]);
  expect(redaction.shown("9f3a77c1...: or a77c1d2e84b, bad")).toBe(
    "[removed]...: or [removed], bad",
  );
});

test("an echoed prompt is removed, whole, in part and inside JSON text", () => {
  const redaction = new Redaction([]);
  redaction.addPrompt({
    messages: [{ content: 'The ferry "Aurora" leaves the harbour at seven.' }],
  });
  expect(redaction.shown('no: The ferry "Aurora" leaves the harbour at seven.')).toBe(
    "no: [removed].",
  );
  expect(redaction.shown('{"echo":"ferry \\"Aurora\\" leaves the harbour at"}')).not.toMatch(
    /leaves|the h/,
  );
  expect(redaction.shown("The ferry is late.")).toBe("The ferry is late.");
});

test("secrets are removed from a finding's message and from every text of its evidence", () => {
  const shown = presentFinding(
    {
      status: "fail",
      message: "it said canary-key-1",
      evidence: { list: ["canary-key-1", 3], status: 200 },
    },
    new Redaction(["canary-key-1"]),
  );
  expect(shown).toEqual({
    status: "fail",
    message: "it said [removed]",
    evidence: { list: ["[removed]", 3], status: 200 },
  });
});
