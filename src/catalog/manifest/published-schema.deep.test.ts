import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { BEYOND_SCHEMA_RULES } from "./beyond-schema.ts";
import {
  decisionsManifest,
  imageManifest,
  termsManifest,
  textManifest,
  videoManifest,
  type Json,
} from "../../../test/fixtures/manifest/samples.ts";
import { publishedManifestSchema } from "../../../test/fixtures/manifest/rule-case.ts";
import { validateManifest } from "./index.ts";

const published = publishedManifestSchema();

/** True if the validator accepts the document, by the rules that JSON Schema can express. */
function validatorAccepts(document: Json): boolean {
  const verdict = validateManifest(JSON.stringify(document));
  const problems = verdict.ok ? [] : verdict.problems;
  return problems.every(({ rule }) => Object.hasOwn(BEYOND_SCHEMA_RULES, rule));
}

const texts =
  "text image video decisions token reported_cost wire_b systemone gliner prompt completion " +
  "private 0 1 a:b /p 2026-02-30 integer enum range envelope_v4 sk-abc";
const others: readonly Json[] = ["", null, true, false, -1, 0, 1, 1.5, 121, 1e300, [], {}];
const words: readonly Json[] = [...texts.split(" "), ...others, ["text"], [null]];

interface Mutation {
  readonly place: number;
  readonly act: "replace" | "remove" | "repeat" | "move";
  readonly word: number;
  readonly from: number;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  place: fc.nat(),
  act: fc.constantFrom("replace", "remove", "repeat", "move"),
  word: fc.nat(),
  from: fc.nat(),
});

interface Slot {
  readonly parent: Record<string, Json>;
  readonly key: string;
}

function slotsOf(value: Json): Slot[] {
  if (typeof value !== "object" || value === null) return [];
  const parent = value as Record<string, Json>;
  return Object.keys(parent).flatMap((key) => [{ parent, key }, ...slotsOf(parent[key] ?? null)]);
}

function pick<T>(items: readonly T[], index: number): T | undefined {
  return items[index % items.length];
}

/** Changes one place of the document; `move` copies another part of the document there. */
function mutate(document: Json, { place, act, word, from }: Mutation): void {
  const slots = slotsOf(document);
  const slot = pick(slots, place);
  const other = pick(slots, from);
  if (slot === undefined || other === undefined) return;
  const { parent, key } = slot;
  if (act === "replace") parent[key] = structuredClone(pick(words, word) ?? null);
  else if (act === "move") parent[key] = structuredClone(other.parent[other.key] ?? null);
  else if (act === "remove" && !Array.isArray(parent)) delete parent[key];
  else if (Array.isArray(parent)) {
    if (act === "remove") parent.splice(Number(key), 1);
    else parent.push(structuredClone(parent[Number(key)] ?? null));
  }
}

test("published schema and validator agree on manifests changed at random", () => {
  const bases = [textManifest, imageManifest, videoManifest, decisionsManifest, termsManifest];
  const seen = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(
      fc.constantFrom(...bases),
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      (base, mutations) => {
        const document = base();
        for (const one of mutations) mutate(document, one);
        const accepted = published(document);
        seen[accepted ? "accepted" : "refused"] += 1;
        expect(validatorAccepts(document)).toBe(accepted);
      },
    ),
    { numRuns: runs(3_000) },
  );
  expect(seen.accepted).toBeGreaterThan(60);
  expect(seen.refused).toBeGreaterThan(400);
});
