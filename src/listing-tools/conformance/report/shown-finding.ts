import type { Evidence, EvidenceValue, Finding } from "./finding.ts";
import type { Redaction } from "./redaction.ts";

/** The finding with every text in it bounded, without keys and prompts: nothing else leaves a run. */
export function presentFinding<F extends Finding>(finding: F, redaction: Redaction): F {
  const shown = { ...finding, message: redaction.shown(finding.message) };
  const { evidence } = finding;
  return evidence === undefined
    ? shown
    : { ...shown, evidence: presentEvidence(evidence, redaction) };
}

function presentEvidence(evidence: Evidence, redaction: Redaction): Evidence {
  const entries = Object.entries(evidence);
  return Object.fromEntries(entries.map(([name, value]) => [name, presentValue(value, redaction)]));
}

function presentValue(value: EvidenceValue, redaction: Redaction): EvidenceValue {
  if (typeof value === "string") return redaction.shown(value);
  if (Array.isArray(value))
    return value.map((each: EvidenceValue) => presentValue(each, redaction));
  return value;
}
