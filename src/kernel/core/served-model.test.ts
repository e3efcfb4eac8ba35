import { expect, test } from "vitest";

import { readServedModel } from "./served-model.ts";

const LISTING = { upstreamModelId: "lab/quill-2", resolvesTo: ["quill-large"] };

test.each([
  ["the id that was asked for", "lab/quill-2", false],
  ["a declared other id", "quill-large", false],
  ["a dated snapshot", "lab/quill-2-20261001", false],
  ["a dated snapshot with dashes", "lab/quill-2-2026-10-01", false],
  ["a day that no calendar has", "lab/quill-2-20250229", true],
  ["a month that no calendar has", "lab/quill-2-2026-13-01", true],
  ["a dated snapshot of a declared other id", "quill-large-20261001", true],
  ["a smaller model", "lab/quill-2-mini", true],
  ["another case", "LAB/Quill-2", true],
])("a provider that reports %s is judged right", (_name, served, flagged) => {
  expect(readServedModel(LISTING, served)).toEqual({ name: served, isSubstituted: flagged });
});

test("a provider may report the id without its variant, but not with another one", () => {
  const listing = { upstreamModelId: "lab/quill-2:fast", resolvesTo: [] };
  const flagged = ["lab/quill-2:fast", "lab/quill-2", "lab/quill-2:slow"].map(
    (name) => readServedModel(listing, name)?.isSubstituted,
  );
  expect(flagged).toEqual([false, false, true]);
});

test.each([
  ["a name", "lab/quill-2", "lab/quill-2"],
  ["space around it", "  lab/quill-2\n", "lab/quill-2"],
  ["what cannot be seen", "lab/\u0000quill\u001B[31m-2\u202E", "lab/quill[31m-2"],
  ["half of a surrogate pair", "lab/\uD800quill", "lab/quill"],
  ["an account's resource", "arn:aws:bedrock:us-east-1:123456789012:profile/x", "[removed]"],
  ["an address", "http://10.0.0.7:8000/models/quill", "[removed]"],
  ["no text", 7, undefined],
  ["nothing", "", undefined],
  ["nothing that can be seen", "\u0000 \u200B", undefined],
])(
  "the recorded name is bounded and visible if the provider reports %s",
  (_name, reported, kept) => {
    expect(readServedModel(LISTING, reported)?.name).toBe(kept);
  },
);

test("a long name is cut, but never inside a character", () => {
  const cut = (text: string) => readServedModel(LISTING, text)?.name;
  expect(cut("x".repeat(100_000))).toBe("x".repeat(200));
  expect(cut(`${"x".repeat(199)}😀`)).toBe("x".repeat(199));
});
