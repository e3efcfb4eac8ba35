import { expect, test } from "vitest";

import { validateManifest } from "../catalog/index.ts";
import { termsManifest } from "../../test/fixtures/manifest/samples.ts";
import { pastPriceChanges } from "./manifest-command.ts";

test("a price change whose instant has passed is reported with its place in the manifest", () => {
  const verdict = validateManifest(JSON.stringify(termsManifest()));
  if (!verdict.ok) throw new Error("the sample is not valid");
  const pointersAt = (instant: string): readonly string[] =>
    pastPriceChanges(verdict.manifest, Date.parse(instant)).map(({ pointer }) => pointer);
  const [first, second] = [0, 1].map((at) => `/listing_terms/acme~1ink/price_changes/${at}`);
  expect(pointersAt("2026-01-01T00:00:00Z")).toEqual([]);
  expect(pointersAt("2027-01-31T23:59:59Z")).toEqual([first]);
  expect(pointersAt("2027-02-01T00:00:00Z")).toEqual([first, second]);
});
