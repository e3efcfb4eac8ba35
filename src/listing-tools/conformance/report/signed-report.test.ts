import { generateKeyPairSync } from "node:crypto";

import { expect, test } from "vitest";

import { reportOf } from "../../../../test/support/conformance-reports.ts";
import type { ConformanceReport } from "./report.ts";
import { readSignedReport, signReport } from "./signed-report.ts";

const key = generateKeyPairSync("ed25519");
const other = generateKeyPairSync("ed25519");

const REPORT = reportOf({
  provider: "lab",
  manifestSha256: "ab".repeat(32),
  startedAtMs: Date.parse("2026-11-20T10:00:00.000Z"),
  models: [{ id: "lab/one" }],
});

function withCheck(more: object): object {
  const [model] = REPORT.models;
  return { ...REPORT, models: [{ ...model, checks: [{ ...model?.checks[0], ...more }] }] };
}

function signedText(report: object = REPORT): string {
  return JSON.stringify(signReport(report as ConformanceReport, key.privateKey), undefined, 2);
}

test("a signed report is read back unchanged, even if it is indented", () => {
  expect(readSignedReport(signedText(), key.publicKey)).toEqual({ ok: true, report: REPORT });
});

test("a report that was changed, or that another key signed, is refused", () => {
  const changed = signedText().replace('"pass"', '"warn"');
  expect(readSignedReport(changed, key.publicKey)).toMatchObject({ ok: false });
  expect(readSignedReport(signedText(), other.publicKey)).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/trusted key/),
  });
});

test("a report with a duplicate member is refused", () => {
  const twice = signedText().replace('"verdict": "pass"', '"verdict": "fail", "verdict": "pass"');
  expect(readSignedReport(twice, key.publicKey)).toEqual({
    ok: false,
    problem: "it has /verdict twice",
  });
});

test("a report without a signature is refused with the next step", () => {
  expect(readSignedReport(JSON.stringify(REPORT), key.publicKey)).toMatchObject({
    problem: expect.stringMatching(/--sign/),
  });
});

test.each([
  ["an invalid hash", { ...REPORT, manifest_sha256: "x" }],
  ["the same model twice", { ...REPORT, models: [REPORT.models[0], REPORT.models[0]] }],
  ["no is_complete", { ...REPORT, is_complete: undefined }],
  ["evidence longer than a run writes", withCheck({ evidence: { text: "x".repeat(9_000) } })],
  ["an unknown verdict", { ...REPORT, models: [{ ...REPORT.models[0], verdict: "fine" }] }],
  ["an unknown check", { ...REPORT, models: [{ ...REPORT.models[0], checks: [{ id: "C99" }] }] }],
])("a signed report with %s is refused", (_name, report) => {
  expect(readSignedReport(signedText(report), key.publicKey)).toMatchObject({ ok: false });
});
