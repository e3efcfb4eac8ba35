import { expect, test } from "vitest";

import { type ManifestFile } from "./catalog-input.ts";
import { compileCatalog, type CatalogOutcome } from "./compile-catalog.ts";
import { parseKeyOrigins, type KeyOrigins } from "./key-origins.ts";
import { edited, manifestFile, textManifest } from "../../test/fixtures/manifest/samples.ts";

function fileOf(file: string, origin: string, variable = "SHARED_KEY"): ManifestFile {
  const edits = {
    "/provider/id": file.replace(".json", ""),
    "/endpoint/base_url": `${origin}/v1`,
    "/endpoint/api_key_env": variable,
  };
  return manifestFile(file, edited(textManifest(), edits));
}

function compile(
  manifests: readonly ManifestFile[],
  origins: KeyOrigins = new Map(),
  owners: ReadonlyMap<string, string> = new Map(),
): CatalogOutcome {
  const keys = { isOwnVariable: (name: string) => name.startsWith("OUR_"), origins, owners };
  return compileCatalog({ manifests, hasKey: () => true, today: "2026-11-20", keys });
}

function unrouted(outcome: CatalogOutcome): string[] {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.issues));
  const { deployments } = outcome.catalog;
  const without = deployments.filter((each) => each.notReady === "key_elsewhere");
  for (const { apiKeyEnv } of without) expect(apiKeyEnv).toBeUndefined();
  return [...new Set(without.map(({ providerId }) => String(providerId)))];
}

const one = fileOf("one.json", "https://one.example");
const sameOrigin = fileOf("same.json", "https://one.example");
const other = fileOf("two.json", "https://one.example:8443");

test("a provider's key goes to the first origin that names it, and to no other", () => {
  const outcome = compile([other, sameOrigin, one]);
  expect(unrouted(outcome)).toEqual(["two"]);
  const notes = outcome.ok ? outcome.notes.filter(({ file }) => file === "two.json") : [];
  expect(notes[0]).toMatchObject({
    reason: "key_elsewhere",
    message: expect.stringContaining(
      "SHARED_KEY belongs to https://one.example, which one.json names first",
    ),
  });
});

test("an origin that has a key keeps it while a manifest names it, whichever file sorts first", () => {
  const owners = new Map([["SHARED_KEY", "https://one.example:8443"]]);
  const outcome = compile([one, other, sameOrigin], new Map(), owners);
  expect(unrouted(outcome)).toEqual(["one", "same"]);
  expect(outcome).toMatchObject({ keyOwners: owners });
  const [note] = outcome.ok ? outcome.notes : [];
  expect(note?.message).toContain(
    "belongs to https://one.example:8443, which two.json named before",
  );
  const without = compile([one, sameOrigin], new Map(), owners);
  expect(unrouted(without)).toEqual([]);
  expect(without).toMatchObject({ keyOwners: new Map([["SHARED_KEY", "https://one.example"]]) });
});

test("the operator's setting gives a key to several origins, or away from the first", () => {
  const both = "SHARED_KEY=https://one.example, SHARED_KEY=https://one.example:8443/";
  const only = "SHARED_KEY=https://one.example:8443";
  for (const [setting, expected] of [
    [both, []],
    [only, ["one"]],
    ["OTHER_KEY=https://x.example", ["two"]],
  ] as const) {
    const parsed = parseKeyOrigins(setting);
    if (!parsed.ok) throw new Error(parsed.message);
    expect(unrouted(compile([one, other], parsed.origins))).toEqual(expected);
  }
});

test("a manifest that names a variable of this program is refused", () => {
  const issue = {
    file: "bad.json",
    pointer: "/endpoint/api_key_env",
    message:
      "OUR_SECRET is a variable of this program; name one that holds only this provider's key",
  };
  const outcome = compile([fileOf("bad.json", "https://x.example", "OUR_SECRET")]);
  expect(outcome).toEqual({ ok: false, issues: [issue] });
});

test.each(["x", "A=b", "A=https://a.example/v1", "a=https://a.example", "A=https://u:p@a.example"])(
  "a pair that is not a name and an origin is not accepted: %s",
  (setting) => expect(parseKeyOrigins(setting)).toMatchObject({ ok: false }),
);
