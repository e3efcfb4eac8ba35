import { type KeyObject, sign, verify } from "node:crypto";

import { asObject, tryParse } from "../../json/index.ts";
import { CHECK_IDS } from "./finding.ts";
import type { ConformanceReport } from "./report.ts";

/** A report with a signature: what `conformance import` takes. */
export interface SignedReport extends ConformanceReport {
  /** Ed25519 over the report's JSON text without this field, base64. */
  readonly signature: string;
}

export function signReport(report: ConformanceReport, privateKey: KeyObject): SignedReport {
  const signature = sign(null, Buffer.from(JSON.stringify(report)), privateKey).toString("base64");
  return { ...report, signature };
}

export type ReadReport =
  | { readonly ok: true; readonly report: ConformanceReport }
  /** `problem`: what is wrong and the next step. */
  | { readonly ok: false; readonly problem: string };

/** Most bytes of a report that is imported. */
export const REPORT_BYTES_MAX = 16_777_216;

/** Reads a report that the holder of the trusted key signed. */
export function readSignedReport(text: string, trusted: KeyObject): ReadReport {
  if (Buffer.byteLength(text) > REPORT_BYTES_MAX) return problem("it is larger than 16 MiB");
  const signed = asObject(tryParse(text)?.value);
  if (signed === undefined) return problem("it is not a JSON object");
  const { signature, ...report } = signed;
  if (typeof signature !== "string") {
    return problem("it is not signed; run `conformance run --sign KEY --json FILE` for it");
  }
  // As it was written: an object keeps the order of its members.
  const bytes = Buffer.from(JSON.stringify(report));
  if (!verify(null, bytes, trusted, Buffer.from(signature, "base64"))) {
    return problem(
      "its signature is not of the trusted key, or it was changed after it was signed",
    );
  }
  const flaw = flawOf(report);
  return flaw === undefined
    ? { ok: true, report: report as unknown as ConformanceReport }
    : problem(`${flaw}; it was written by another version`);
}

function problem(words: string): ReadReport {
  return { ok: false, problem: words };
}

const VERDICTS: ReadonlySet<unknown> = new Set(["pass", "warn", "fail", "inconclusive"]);
const STATUSES: ReadonlySet<unknown> = new Set(["pass", "warn", "fail", "skip", "error"]);
const MODELS_MAX = 10_000;
const ID_CHARS_MAX = 256;
/** A run writes no longer text, and a short table of values as evidence. */
const TEXT_CHARS_MAX = 300;
const EVIDENCE_CHARS_MAX = 8_192;

function flawOf(report: Readonly<Record<string, unknown>>): string | undefined {
  const { report_version: version, provider, manifest_sha256: sha256, models } = report;
  if (version !== "1") return "report_version is not 1";
  if (typeof provider !== "string" || provider === "") return "provider is not a text";
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) {
    return "manifest_sha256 is not a SHA-256";
  }
  if (Number.isNaN(Date.parse(String(report["started_at"])))) return "started_at is not a date";
  if (!Array.isArray(models) || models.length > MODELS_MAX) return "models is not a list";
  if (report["is_complete"] !== true && report["is_complete"] !== false)
    return "is_complete is unknown";
  if (!models.every(isModel)) return "a model of it is not as it should be";
  const ids = new Set(models.map((model) => asObject(model)?.["id"]));
  return ids.size === models.length ? undefined : "a model of it is listed more than once";
}

function isModel(value: unknown): boolean {
  const model = asObject(value);
  const checks = model?.["checks"];
  return (
    model !== undefined &&
    isText(model["id"], ID_CHARS_MAX) &&
    isText(model["upstream_id"], ID_CHARS_MAX) &&
    typeof model["ready"] === "boolean" &&
    VERDICTS.has(String(model["verdict"])) &&
    Array.isArray(checks) &&
    checks.length <= CHECK_IDS.length &&
    checks.every(isCheck)
  );
}

function isCheck(value: unknown): boolean {
  const check = asObject(value);
  return (
    check !== undefined &&
    CHECK_IDS.some((id) => id === check["id"]) &&
    STATUSES.has(String(check["status"])) &&
    isText(check["title"], TEXT_CHARS_MAX) &&
    isText(check["message"], TEXT_CHARS_MAX) &&
    typeof check["ms"] === "number" &&
    (JSON.stringify(check["evidence"]) ?? "").length <= EVIDENCE_CHARS_MAX
  );
}

function isText(value: unknown, charsMax: number): boolean {
  return typeof value === "string" && value.length <= charsMax;
}
