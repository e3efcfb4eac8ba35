import { createHash } from "node:crypto";

import { CHECKS } from "../../src/listing-tools/conformance/checks/index.ts";
import {
  type CheckId,
  type Finding,
  passed,
} from "../../src/listing-tools/conformance/report/finding.ts";
import type {
  ConformanceReport,
  ModelReport,
} from "../../src/listing-tools/conformance/report/report.ts";
import {
  modelVerdict,
  providerVerdict,
} from "../../src/listing-tools/conformance/report/verdict.ts";

/** The findings of a run for one model. Checks without a finding have passed. */
export interface FoundModel {
  readonly id: string;
  readonly found?: Partial<Record<CheckId, Finding>>;
}

export function reportOf(run: {
  readonly provider: string;
  readonly manifestSha256: string;
  readonly startedAtMs: number;
  readonly models: readonly FoundModel[];
}): ConformanceReport {
  const models = run.models.map(modelReport);
  return {
    report_version: "1",
    provider: run.provider,
    manifest_sha256: run.manifestSha256,
    started_at: new Date(run.startedAtMs).toISOString(),
    duration_ms: 41_230,
    spend_usd: "0.013100",
    is_complete: true,
    verdict: providerVerdict(models),
    models,
  };
}

function modelReport({ id, found = {} }: FoundModel): ModelReport {
  const checks = CHECKS.map(({ id: checkId, title }, at) => ({
    id: checkId,
    title,
    ms: 100 * at,
    ...(found[checkId] ?? passed(`all is as ${checkId} wants it`, { answers: 10 + at })),
  }));
  const verdict = modelVerdict(checks);
  return { id, upstream_id: id, ready: true, verdict, checks };
}

export function sha256OfManifest(manifest: object, simulatorUrl: string): string {
  const text = JSON.stringify(manifest).replaceAll("{simulator}", simulatorUrl);
  return createHash("sha256").update(text).digest("hex");
}
