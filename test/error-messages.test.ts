import type { TSchema } from "typebox";
import { describe, expect, test } from "vitest";

import { sentence, shownMessage } from "../console/src/ui/sentence.ts";
import { compileCheck } from "../src/console-api/check-schema.ts";
import { ROUTES } from "../src/console-api/contract.ts";
import { explainRefusal } from "../src/console-api/explain-refusal.ts";
import { REFUSALS } from "../src/core/refusals.ts";
import { errorTextsOf, flawOf, type ErrorText } from "./tidy/error-messages.ts";
import { isTest, readSourceFiles } from "./tidy/source-files.ts";

/** Where the console's API has its refusals from. */
const ANSWERING = ["src/console-api", "src/billing", "src/optimize"];
/** Messages of commands, logs and the start of the program; pieces that a sentence is made of. */
const NOT_SHOWN =
  /^src\/(billing\/(purchase-service|test-money|top-up-charges)|console-api\/(check-schema|contract\/)|optimize\/(search-run|model-caller))/;

const ALLOWED: readonly string[] = [
  // A line of the log.
  "stripe.webhook_secret is not set",
  // What follows is a sentence.
  "Tools: 5",
  "JSON schema: 5",
];

const textsBelow = (...folders: readonly string[]): ErrorText[] =>
  readSourceFiles(...folders)
    .filter((source) => !isTest(source) && !NOT_SHOWN.test(source.file))
    .flatMap(errorTextsOf)
    .filter(({ text }) => !ALLOWED.some((each) => text.startsWith(each)));

const answered = textsBelow(...ANSWERING);
const ofPages = textsBelow("console/src");

function flaws(texts: readonly ErrorText[], shown: (message: string) => string): string[] {
  return texts.flatMap(({ place, text }) => {
    const flaw = flawOf(shown(text));
    return flaw === undefined ? [] : [`${place} "${text}" ${flaw}`];
  });
}

describe("what people read as an error is a sentence without names of the program", () => {
  test("where the console's API refuses", () => {
    expect(answered.length).toBeGreaterThan(70);
    expect(flaws(answered, shownMessage)).toEqual([]);
  });

  test("where a page or a form says it", () => {
    expect(ofPages.length).toBeGreaterThan(45);
    expect(flaws(ofPages, (text) => text)).toEqual([]);
  });

  test("where a refused request is explained", () => {
    const texts = Object.keys(REFUSALS).map((each) => ({
      place: each,
      text: explainRefusal(each),
    }));
    expect(flaws(texts, sentence)).toEqual([]);
  });

  test.each(Object.entries(ROUTES).filter(([, route]) => "body" in route || "query" in route))(
    "where %s is sent a field that is missing, unknown, or not as it must be",
    (_name, route) => {
      const parts = route as { readonly body?: TSchema; readonly query?: TSchema };
      const messages = [...wrongOf(parts.body, "body"), ...wrongOf(parts.query, "text")];
      expect(messages.length).toBeGreaterThan(0);
      expect(flaws(messages, shownMessage)).toEqual([]);
    },
  );
});

describe("a refusal says the next step", () => {
  test("where something else has to be done first, or later", () => {
    const conflicts = answered.filter(({ text }) => /already|not available|too many/.test(text));
    expect(conflicts.length).toBeGreaterThan(8);
    expect(conflicts.filter(({ text }) => !/[;.] \S/.test(text))).toEqual([]);
  });
});

describe("a flaw is noticed", () => {
  test.each([
    ["lower case", "the name is taken."],
    ["no full stop", "The name is taken"],
    ["a name of the program", "The cap_usd is too low."],
    ["another one", "The maxTokens are too low."],
    ["code", "Run `npm start`."],
  ])("%s", (_what, text) => {
    expect(flawOf(text)).toBeDefined();
  });

  test.each([
    ['const problem = "not so";', ["not so"]],
    ['f({ message: `${a} is "not so"` });', ['5 is "not so"']],
    ['setProblem(a ? "not so" : "nor so");', ["not so", "nor so"]],
    ['function nameProblem() { if (a) return "not so"; }', ["not so"]],
    ['conflict("not " + "so");', ["not so"]],
    ['const label = "not so";', []],
  ])("in %s", (text, found) => {
    expect(errorTextsOf({ file: "src/a.ts", text }).map((each) => each.text)).toEqual(found);
  });

  test("in an attribute of a form", () => {
    const text = '<Input error={a === "" ? undefined : "not so"} />;';
    expect(errorTextsOf({ file: "src/a.tsx", text })).toHaveLength(1);
  });
});

/** What the checks of a route say of requests that miss a field or have a wrong one. */
function wrongOf(schema: TSchema | undefined, part: "body" | "text"): ErrorText[] {
  if (schema === undefined) return [];
  const check = compileCheck(schema, part);
  const fields = Object.keys((schema as { properties?: object }).properties ?? {});
  // What is missing would be said first, whatever else is wrong.
  const checkFields = compileCheck({ ...schema, required: [] }, part);
  const wholes = [{}, [], null, { [UNKNOWN]: 1 }].map((value) => [check, value] as const);
  const wrong = fields.flatMap(wrongValues).map((value) => [checkFields, value] as const);
  return [...wholes, ...wrong].flatMap(([checked, value]) => {
    const problem = checked(value);
    if (problem === undefined) return [];
    const text = problem.message.replaceAll(UNKNOWN, "that");
    return [{ place: JSON.stringify(value)?.slice(0, 80) ?? "", text }];
  });
}

const UNKNOWN = "unknownfield";

function wrongValues(field: string): object[] {
  const values = [null, "", "?!", "x".repeat(70_000), -1, 0.5, 1e9, true, [], [""], [5], {}];
  const many = Array.from({ length: 500 }, (_, at) => `a${at}`);
  return [...values, many, { nothing: 1 }].map((value) => ({ [field]: value }));
}
