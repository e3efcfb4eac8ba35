import { expect, test } from "vitest";

import { type ConformanceReport, junitReport, markdownReport } from "./report.ts";

const FAILED = { id: "C7", status: "fail", title: "no silent substitution", ms: 5 } as const;
const REPORT: ConformanceReport = {
  report_version: "1",
  provider: "lab-a",
  manifest_sha256: "0123456789abcdef".repeat(4),
  started_at: "2026-11-20T10:00:00.000Z",
  duration_ms: 41_230,
  spend_usd: "0.013100",
  is_complete: false,
  verdict: "fail",
  models: [
    {
      id: "lab/one|two",
      upstream_id: "one",
      ready: true,
      verdict: "fail",
      checks: [
        { id: "C1", status: "pass", title: "reachability and auth", message: "fine", ms: 12 },
        { ...FAILED, message: 'not <"this">' },
      ],
    },
    {
      id: "lab/staged",
      upstream_id: "staged",
      ready: false,
      verdict: "fail",
      checks: [{ ...FAILED, message: "no" }],
    },
  ],
};

test("the Markdown report has a row for each model, and a line for a check that did not pass", () => {
  const text = markdownReport(REPORT);
  expect(text).toContain(String.raw`| lab/one\|two | **fail** | pass | fail |`);
  expect(text).toContain("| lab/staged (staged) | **fail** |  | fail |");
  expect(text).toContain(String.raw`**C7 no silent substitution** (fail): not \<"this"\>`);
  expect(text).toContain("ended early");
});

test("the JUnit report escapes a provider's text, and counts no failure of a staged model", () => {
  const text = junitReport(REPORT);
  expect(text).toContain('<failure message="not &lt;&quot;this&quot;&gt;"/>');
  expect(text.match(/<failure /g)).toHaveLength(1);
  expect(text).toContain('tests="1" failures="0" errors="0" skipped="0"');
});
