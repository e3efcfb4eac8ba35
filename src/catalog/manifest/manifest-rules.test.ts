import { describe, expect, test } from "vitest";
import { BEYOND_SCHEMA_RULES } from "./beyond-schema.ts";
import { documentCases } from "../../../test/fixtures/manifest/document-cases.ts";
import { entryCases } from "../../../test/fixtures/manifest/entry-cases.ts";
import { listingCases } from "../../../test/fixtures/manifest/listing-cases.ts";
import { profileCases } from "../../../test/fixtures/manifest/profile-cases.ts";
import { publishedManifestSchema } from "../../../test/fixtures/manifest/rule-case.ts";
import { edited } from "../../../test/fixtures/manifest/samples.ts";
import { termsCases } from "../../../test/fixtures/manifest/terms-cases.ts";
import { listManifestRules, validateManifest } from "./index.ts";

const cases = [...documentCases, ...listingCases, ...entryCases, ...termsCases, ...profileCases];
const published = publishedManifestSchema();

describe("the rules of the manifest and its published schema", () => {
  test.each(cases)("$promise ($rule)", ({ rule, base, good, bad, place }) => {
    expect(validateManifest(JSON.stringify(edited(base(), good)))).toMatchObject({ ok: true });
    const verdict = validateManifest(JSON.stringify(edited(base(), bad)));
    const problems = verdict.ok ? [] : verdict.problems;
    expect(problems.map((problem) => `${problem.rule} at ${problem.pointer}`)).toContain(
      `${rule} at ${place}`,
    );
    expect(published(edited(base(), good))).toBe(true);
    expect(published(edited(base(), bad))).toBe(Object.hasOwn(BEYOND_SCHEMA_RULES, rule));
  });

  test("have a case here for every rule that can be reported, except those of JSON", () => {
    const tested = new Set(cases.map(({ rule }) => rule));
    const untested = listManifestRules()
      .map(({ id }) => id)
      .filter((id) => !tested.has(id) && !id.startsWith("json-"));
    expect(untested).toEqual([]);
    expect(cases.length).toBeGreaterThan(150);
  });
});
