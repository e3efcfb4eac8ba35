import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { parseManifestFiles } from "../src/catalog/index.ts";
import { CHECK_IDS } from "../src/listing-tools/index.ts";

const DOCS = resolve(import.meta.dirname, "../docs");
const guide = readFileSync(join(DOCS, "conformance.md"), "utf8");

test("the manifest that the guide for providers starts from is valid", () => {
  const [, text = ""] = /```json\n(.*?)```/s.exec(guide) ?? [];
  expect(parseManifestFiles([{ file: "lab.json", text }])).toMatchObject({ ok: true });
  const broken = text.replace("wire_a", "wire_x");
  expect(parseManifestFiles([{ file: "lab.json", text: broken }])).toMatchObject({ ok: false });
});

test("every check has a section on how to repair its failures", () => {
  const sections = [...guide.matchAll(/^### (C\d+): /gm)].map(([, id]) => id);
  expect(sections).toEqual([...CHECK_IDS]);
});
