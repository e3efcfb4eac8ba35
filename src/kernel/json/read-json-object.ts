import { invalidRequest, refused, type Result } from "../core/refusals.ts";
import type { JsonDocument } from "./json-document.ts";
import { describeFault } from "./json-limits.ts";
import { FORBIDDEN_KEYS, type KeyRules, type WordTable } from "./json-keys.ts";
import { scanJson } from "./scan-json.ts";

const defaultRules: KeyRules = { forbidden: FORBIDDEN_KEYS };

export function readJsonObject(
  body: Buffer,
  words: WordTable,
  rules: KeyRules = defaultRules,
): Result<{ readonly doc: JsonDocument }> {
  const scanned = scanJson(body, words, rules);
  if (!scanned.ok) return refused(invalidRequest(describeFault(scanned.fault)));
  if (scanned.doc.isObject(0)) return scanned;
  return refused(invalidRequest("the body must be one JSON object"));
}
