import { type KeyObject, sign } from "node:crypto";
import { Type } from "typebox";

import { documentParts, documentReader, isSignedBy } from "../../../kernel/index.ts";
import { CHECK_IDS } from "./finding.ts";
import type { ConformanceReport } from "./report.ts";

/** A signed report, the input of `conformance import`. */
export interface SignedReport extends ConformanceReport {
  /** Ed25519 signature of the report's JSON text without this field, in base64. */
  readonly signature: string;
}

export function signReport(report: ConformanceReport, privateKey: KeyObject): SignedReport {
  const signature = sign(null, Buffer.from(JSON.stringify(report)), privateKey).toString("base64");
  return { ...report, signature };
}

export type ReadReport =
  | { readonly ok: true; readonly report: ConformanceReport }
  | { readonly ok: false; readonly problem: string };

export const REPORT_BYTES_MAX = 16_777_216;

/** The title or message of a check. No run writes a longer text. */
const text = Type.String({ maxLength: 300 });
const id = Type.String({ maxLength: 256 });
const EVIDENCE_CHARS_MAX = 8_192;

const reportDocument = documentReader(
  Type.Object({
    report_version: Type.Literal("1", { description: '"1": it was written by another version' }),
    provider: Type.String({ minLength: 1 }),
    manifest_sha256: documentParts.sha256(),
    started_at: Type.String({ format: "date-time" }),
    is_complete: Type.Boolean(),
    models: Type.Array(
      Type.Object({
        id,
        upstream_id: id,
        ready: Type.Boolean(),
        verdict: Type.Enum(["pass", "warn", "fail", "inconclusive"]),
        checks: Type.Array(
          Type.Object({
            id: Type.Enum([...CHECK_IDS]),
            status: Type.Enum(["pass", "warn", "fail", "skip", "error"]),
            title: text,
            message: text,
            ms: Type.Number(),
          }),
          { maxItems: CHECK_IDS.length },
        ),
      }),
      { maxItems: 10_000 },
    ),
    signature: Type.Optional(Type.String()),
  }),
);

export function readSignedReport(file: string, trusted: KeyObject): ReadReport {
  if (Buffer.byteLength(file) > REPORT_BYTES_MAX) return problem("it is larger than 16 MiB");
  const read = reportDocument(file);
  if (!read.ok) return read;
  // The schema has checked the members. It keeps unknown ones, so the signature covers these, too.
  const { signature, ...report } = read.document as unknown as Partial<SignedReport> &
    ConformanceReport;
  if (signature === undefined) {
    return problem("it is not signed; run `conformance run --sign KEY --json FILE` for it");
  }
  // Parsing keeps the order of members, so this is the exact text that was signed.
  if (!isSignedBy(trusted, JSON.stringify(report), signature)) {
    return problem(
      "its signature is not of the trusted key, or it was changed after it was signed",
    );
  }
  const { models } = report;
  if (new Set(models.map((model) => model.id)).size < models.length) {
    return problem("a model of it is listed more than once");
  }
  const evidence = models.flatMap(({ checks }) => checks.map((check) => check.evidence ?? {}));
  return evidence.some((each) => JSON.stringify(each).length > EVIDENCE_CHARS_MAX)
    ? problem("the evidence of a check is longer than a run writes")
    : { ok: true, report };
}

function problem(words: string): ReadReport {
  return { ok: false, problem: words };
}
