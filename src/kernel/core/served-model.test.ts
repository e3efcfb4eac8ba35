import { expect, test } from "vitest";

import { readServedModel } from "./served-model.ts";

const LISTING = { upstreamModelId: "lab/quill-2", resolvesTo: ["quill-large"] };

test.each([
  ["the requested id is no substitution", "lab/quill-2", false],
  ["a declared other id is no substitution", "quill-large", false],
  ["a dated snapshot is no substitution", "lab/quill-2-20261001", false],
  ["a dated snapshot with dashes is no substitution", "lab/quill-2-2026-10-01", false],
  ["a snapshot of an impossible day is a substitution", "lab/quill-2-20250229", true],
  ["a snapshot of an impossible month is a substitution", "lab/quill-2-2026-13-01", true],
  ["a dated snapshot of a declared other id is a substitution", "quill-large-20261001", true],
  ["a smaller model is a substitution", "lab/quill-2-mini", true],
  ["the id in another letter case is a substitution", "LAB/Quill-2", true],
])("a provider's report of %s", (_name, served, flagged) => {
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
  ["that is plain is recorded unchanged", "lab/quill-2", "lab/quill-2"],
  ["with space around it is recorded without the space", "  lab/quill-2\n", "lab/quill-2"],
  [
    "with invisible characters is recorded without them",
    "lab/\u0000quill\u001B[31m-2\u202E",
    "lab/quill[31m-2",
  ],
  ["with half of a surrogate pair is recorded without it", "lab/\uD800quill", "lab/quill"],
  [
    "that names a cloud account is recorded as [removed]",
    "arn:aws:bedrock:us-east-1:123456789012:profile/x",
    "[removed]",
  ],
  ["that is a URL is recorded as [removed]", "http://10.0.0.7:8000/models/quill", "[removed]"],
  ["that is not a text is not recorded", 7, undefined],
  ["that is empty is not recorded", "", undefined],
  ["of invisible characters only is not recorded", "\u0000 \u200B", undefined],
])("a reported model name %s", (_name, reported, kept) => {
  expect(readServedModel(LISTING, reported)?.name).toBe(kept);
});

test("a long name is cut, but never inside a character", () => {
  const cut = (text: string) => readServedModel(LISTING, text)?.name;
  expect(cut("x".repeat(100_000))).toBe("x".repeat(200));
  expect(cut(`${"x".repeat(199)}😀`)).toBe("x".repeat(199));
});
