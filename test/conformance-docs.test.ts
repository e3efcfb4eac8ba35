import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { LISTINGS } from "./real-servers/listings.ts";
import { type RealRun, realServersPage, unexplained } from "./real-servers/page.ts";
import { parseManifestFiles } from "../src/catalog/index.ts";
import { CHECK_IDS, type ConformanceReport } from "../src/listing-tools/index.ts";

const DOCS = resolve(import.meta.dirname, "../docs");
const guide = readFileSync(join(DOCS, "conformance.md"), "utf8");

test("the manifest that providers begin from is valid", () => {
  const [, text = ""] = /```json\n(.*?)```/s.exec(guide) ?? [];
  expect(parseManifestFiles([{ file: "lab.json", text }])).toMatchObject({ ok: true });
  const broken = text.replace("wire_a", "wire_x");
  expect(parseManifestFiles([{ file: "lab.json", text: broken }])).toMatchObject({ ok: false });
});

test("every check has a section that says how its failures are repaired", () => {
  const sections = [...guide.matchAll(/^### (C\d+): /gm)].map(([, id]) => id);
  expect(sections).toEqual([...CHECK_IDS]);
});

test("a finding on a real server that was not seen before is named", () => {
  const known = runWith("C3", "the stream ends without usage");
  expect(unexplained([known])).toEqual([]);
  const unknown = runWith("C3", "the stream has no [DONE]");
  expect(unexplained([known, unknown])).toEqual(["llama: C3: the stream has no [DONE]"]);
  expect(pageOf(unknown)).toContain("Not explained yet.");
  expect(pageOf(known)).not.toContain("Not explained yet.");
});

function runWith(id: "C3", message: string): RealRun {
  const listing = LISTINGS.find((each) => each.id === "llama");
  if (listing === undefined) throw new Error("the first listing is of llama");
  const check = { id, status: "fail", title: "stream shape", message, ms: 5 } as const;
  const report: ConformanceReport = {
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
  return { listing, report, exitCode: 1 };
}

function pageOf(run: RealRun): string {
  return realServersPage({
    command: "npm run conformance:real",
    date: "2026-11-20",
    machine: "Node",
    servers: [],
    runs: [run],
  });
}
