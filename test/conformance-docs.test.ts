import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { findingsOf } from "./real-servers/reasons.ts";
import { parseManifestFiles } from "../src/catalog/index.ts";
import { CHECK_IDS, type ConformanceReport } from "../src/listing-tools/index.ts";

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

test("a new finding on a real server counts as unexplained", () => {
  const isExplained = (message: string): readonly boolean[] =>
    findingsOf("llama", reportWith("C3", message)).map((finding) => finding.isExplained);
  expect(isExplained("the stream ends without usage")).toEqual([true]);
  expect(isExplained("the stream has no [DONE]")).toEqual([false]);
});

function reportWith(id: "C3", message: string): ConformanceReport {
  const check = { id, status: "fail", title: "stream shape", message, ms: 5 } as const;
  return {
    report_version: "1",
    provider: "llama",
    manifest_sha256: "0".repeat(64),
    started_at: "2026-11-20T10:00:00.000Z",
    duration_ms: 5,
    spend_usd: "0.01",
    is_complete: true,
    verdict: "fail",
    models: [{ id: "llama/m", upstream_id: "m", ready: true, verdict: "fail", checks: [check] }],
  };
}
