import type { Evidence, EvidenceValue, Finding } from "./finding.ts";
import type { Redaction } from "./redaction.ts";

/** The finding with every text in it bounded, without keys and prompts: nothing else leaves a run. */
export function shownFinding<F extends Finding>(finding: F, redaction: Redaction): F {
  const shown = { ...finding, message: redaction.shown(finding.message) };
  const { evidence } = finding;
  return evidence === undefined
    ? shown
    : { ...shown, evidence: shownEvidence(evidence, redaction) };
}

function shownEvidence(evidence: Evidence, redaction: Redaction): Evidence {
  const entries = Object.entries(evidence);
  return Object.fromEntries(entries.map(([name, value]) => [name, shownValue(value, redaction)]));
}

function shownValue(value: EvidenceValue, redaction: Redaction): EvidenceValue {
  if (typeof value === "string") return redaction.shown(value);
  if (Array.isArray(value)) return value.map((each: EvidenceValue) => shownValue(each, redaction));
  return value;
}
