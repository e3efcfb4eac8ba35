import { expect, test } from "vitest";

import {
  compileFiles,
  edited,
  type Edits,
  manifestFile,
  textManifest,
} from "../../../test/fixtures/manifest/samples.ts";
import { createOrgId } from "../../kernel/index.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import { readExpiry, readKeyFields } from "./read-key.ts";

const nowMs = Date.parse("2026-11-24T12:00:00Z");

test.each([
  [undefined, undefined],
  [null, undefined],
  ["", undefined],
  ["never", null],
  ["2026-11-24T12:00:01Z", nowMs + 1_000],
  ["2026-11-24T12:01Z", nowMs + 60_000],
  ["2026-11-24T12:00:00.001Z", nowMs + 1],
])("an expiry of %j is read as %j", (text, expected) => {
  expect(readExpiry(text, nowMs)).toBe(expected);
});

test.each([
  ["2026-11-24T12:00:00Z", "already passed"],
  ["1999-01-01T00:00:00Z", "already passed"],
  ["2037-11-24T00:00:00Z", "10 years"],
  ["2026-12-24", "not an instant"],
  ["2026-12-24T00:00:00+01:00", "not an instant"],
  ["2026-13-45T00:00:00Z", "not an instant"],
  ["2027-02-30T00:00:00Z", "not an instant"],
  ["tomorrow", "not an instant"],
])("an expiry of %j is refused: %s", (text, reason) => {
  const refused = readExpiry(text, nowMs);
  expect(refused).toBeInstanceOf(ConsoleRefusal);
  expect(JSON.stringify(refused)).toContain(reason);
});

const KEYLESS = { hasKey: () => false };
const PRIVATE = { "/provider/listing": "private" };
const ALLOWED = { models: ["acme/quill"] };
const REFUSED = { status: 400 };

test.each<[string, boolean, Edits, object, object]>([
  ["an operator without the provider's key allows a public model", true, {}, KEYLESS, ALLOWED],
  ["a member may not allow a model that nobody serves", false, {}, KEYLESS, REFUSED],
  ["an operator may not allow a staged model", true, { "/models/0/is_ready": false }, {}, REFUSED],
  ["an operator may not allow a private model", true, PRIVATE, KEYLESS, REFUSED],
])("%s", async (_what, isOperator, edits, input, expected) => {
  const { catalog } = compileFiles([manifestFile("a.json", edited(textManifest(), edits))], input);
  const deps = {
    catalog: { current: catalog },
    rules: { listEndpoints: () => Promise.resolve([]) },
    clock: { nowMs: () => nowMs },
  } as never;
  const session = { orgId: createOrgId(), isOperator };
  expect(await readKeyFields(deps, session, { models: ["acme/quill"] })).toMatchObject(expected);
});
