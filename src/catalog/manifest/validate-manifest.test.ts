import { describe, expect, test } from "vitest";
import {
  decisionsManifest,
  edited,
  imageManifest,
  termsManifest,
  textManifest,
  videoManifest,
  type Edits,
} from "../../../test/fixtures/manifest/samples.ts";
import { validateManifest, type ManifestProblem } from "./index.ts";

function problemsOf(text: string): readonly ManifestProblem[] {
  const verdict = validateManifest(text);
  return verdict.ok ? [] : verdict.problems;
}

function problemsAfter(edits: Edits): readonly ManifestProblem[] {
  return problemsOf(JSON.stringify(edited(textManifest(), edits)));
}

function messages(problems: readonly ManifestProblem[]): string {
  return problems.map(({ pointer, rule, message }) => `${pointer} ${rule}: ${message}`).join("\n");
}

describe("a valid manifest", () => {
  const samples = { textManifest, imageManifest, videoManifest, decisionsManifest, termsManifest };

  test.each(Object.entries(samples))("%s is accepted and returned as written", (_, sample) => {
    expect(validateManifest(JSON.stringify(sample()))).toEqual({ ok: true, manifest: sample() });
  });

  test("may have fields outside the price card that the specification does not name", () => {
    const edits = {
      "/note": "x",
      "/provider/x": 1,
      "/endpoint/x": 1,
      "/settlement/x": 1,
      "/models/0/x": {},
      "/models/0/pricing/0/x": 1,
      "/models/0/capacity/0/x": 1,
      "/models/0/supported_parameters/stop/x": 1,
    };
    expect(problemsAfter(edits)).toEqual([]);
  });

  test("may begin with a byte order mark", () => {
    expect(validateManifest(`\uFEFF${JSON.stringify(textManifest())}`)).toMatchObject({ ok: true });
  });
});

describe("a document that is not readable JSON", () => {
  test("is refused with line, column and what was expected there", () => {
    const [problem, ...others] = problemsOf('{\n  "manifest_version": "1",\n  "models": [1,,2]\n}');
    expect(others).toEqual([]);
    expect(problem).toEqual({
      pointer: "",
      rule: "json-syntax",
      message: "the manifest is not valid JSON at line 3, column 16: expected a value there",
    });
  });

  test("is never quoted, because it may contain a key", () => {
    expect(messages(problemsOf('{"api_key_env": sk-secret}'))).not.toContain("secret");
  });

  test("is refused with the pointer of a duplicate key", () => {
    const mode = '"mode":"arrears"';
    const text = JSON.stringify(textManifest()).replace(mode, `${mode},"mode":"prepaid"`);
    expect(problemsOf(text)).toMatchObject([
      { pointer: "/settlement/mode", rule: "json-duplicate-key" },
    ]);
  });

  test("is refused if it is nested beyond 32 levels", () => {
    const nested = (levels: number): string =>
      JSON.stringify(edited(textManifest(), { "/x": 0 })).replace(
        '"x":0',
        `"x":${"[".repeat(levels)}${"]".repeat(levels)}`,
      );
    expect(problemsOf(nested(31))).toEqual([]);
    expect(problemsOf(nested(32))).toMatchObject([{ pointer: "", rule: "json-depth" }]);
    expect(problemsOf("[".repeat(100_000))).toMatchObject([{ rule: "json-depth" }]);
  });

  test("is refused unchecked if it has over a hundred thousand values", () => {
    const values = (count: number): string => `[${"0,".repeat(count - 2)}0]`;
    expect(problemsOf(values(100_000))).toMatchObject([{ rule: "type" }]);
    expect(problemsOf(values(100_001))).toMatchObject([{ pointer: "", rule: "json-size" }]);
  });

  test("is refused unread if it has over four million characters", () => {
    const text = JSON.stringify(textManifest());
    expect(problemsOf(text + " ".repeat(4_194_304 - text.length))).toEqual([]);
    expect(problemsOf(text + " ".repeat(4_194_305 - text.length))).toMatchObject([
      { pointer: "", rule: "json-size" },
    ]);
  });
});

describe("messages", () => {
  const COST = "/models/0/pricing/0/cost_usd_per_million";

  test("report all problems at once, sorted by place", () => {
    const problems = problemsAfter({
      "/settlement/mode": "credit",
      "/models/1/id": "acme/quill",
      [COST]: "0.1234567",
      "/provider/id": "A",
      "/endpoint/dialect": undefined,
    });
    expect(problems.map(({ pointer, rule }) => `${pointer} ${rule}`)).toEqual([
      "/endpoint required",
      `${COST} price-decimals`,
      "/models/1/id model-id-duplicate",
      "/provider/id provider-id",
      "/settlement/mode settlement-mode",
    ]);
  });

  test.each([
    ["sk-live-51H8abcdefABCDEF", "sk-live"],
    ["tm_vk_0123456789abcdef", "tm_vk_0123"],
    ["AIzaSyD4f0123456789abcdefghijklmno", "AIza"],
  ])("report a key in place of a variable's name, and never repeat it (%#)", (key, part) => {
    const problems = problemsAfter({ "/endpoint/api_key_env": key });
    expect(problems).toMatchObject([{ rule: "key-in-manifest" }]);
    expect(messages(problems)).toContain("write the NAME of the environment variable");
    expect(messages(problems)).toContain("revoke that key");
    expect(messages(problems)).not.toContain(part);
  });

  test.each<[string, Edits, string]>([
    [
      "a price with seven fraction digits",
      { [COST]: "0.1234567" },
      "7 fraction digits; 6 is the most",
    ],
    ["a price written as a number", { [COST]: 0.5 }, "never a number"],
    ["a variant suffix in an id", { "/models/0/id": "quill:free" }, "put a provider variant into"],
    ["an id listed twice", { "/models/1/id": "acme/quill" }, "id is already used by models[0]"],
  ])("%s gets a message of its own", (_, edits, words) => {
    expect(messages(problemsAfter(edits))).toContain(words);
  });
});
