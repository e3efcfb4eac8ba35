import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";

import {
  cutText,
  JSON_DEPTH_MAX,
  JSON_VALUES_MAX,
  type JsonFlaw,
  readJson,
} from "../../kernel/index.ts";
import { beyondSchema } from "./beyond-schema.ts";
import type { ManifestProblem } from "./manifest-problem.ts";
import { manifestSchema } from "./manifest-schema.ts";
import type { Manifest } from "./manifest.ts";
import { problemOf } from "./problem-of.ts";

/** Either the typed manifest, or every problem found: never empty, sorted by pointer. */
export type ManifestVerdict =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly problems: readonly ManifestProblem[] };

/** Most UTF-16 units of a manifest: thousands of listings, and still quick to refuse. */
const MANIFEST_CHARS_MAX = 4_194_304;

/**
 * Checks the text of a provider manifest and reports all problems at once. Messages name the field
 * and the next step, and never repeat a value, which may be a key pasted by mistake.
 */
export function validateManifest(text: string): ManifestVerdict {
  if (text.length > MANIFEST_CHARS_MAX) return refused(tooLarge);
  const reading = readJson(text.startsWith("\uFEFF") ? text.slice(1) : text);
  if (!reading.ok) return refused(notJson(reading.flaw));
  const { value, duplicateKeys } = reading;
  const problems = distinct([
    ...duplicateKeys.map(duplicateKey),
    ...schemaProblems(value),
    ...beyondSchema(value),
  ]);
  // The schema has been satisfied in full, so the document is what its type says.
  return problems.length === 0
    ? { ok: true, manifest: value as Manifest }
    : { ok: false, problems };
}

const tooLarge: ManifestProblem = {
  pointer: "",
  rule: "json-size",
  message: `the manifest must be at most ${MANIFEST_CHARS_MAX} characters; split it by provider`,
};

function refused(problem: ManifestProblem): ManifestVerdict {
  return { ok: false, problems: [problem] };
}

function notJson({ rule, line, column, expected }: JsonFlaw): ManifestProblem {
  const place = `line ${line}, column ${column}`;
  const messages: Readonly<Record<typeof rule, string>> = {
    "json-syntax": `the manifest is not valid JSON at ${place}: expected ${expected} there`,
    "json-depth": `the manifest is nested too deep at ${place}; use at most ${JSON_DEPTH_MAX} levels`,
    "json-size": `the manifest has over ${JSON_VALUES_MAX} values at ${place}; split it by provider`,
  };
  return { pointer: "", rule, message: messages[rule] };
}

function duplicateKey(pointer: string): ManifestProblem {
  const message =
    "this key is duplicated in its object; remove one, because parsers disagree on which one counts";
  return { pointer, rule: "json-duplicate-key", message };
}

let compiled: ValidateFunction | undefined;

function schemaProblems(value: unknown): ManifestProblem[] {
  compiled ??= compileSchema();
  if (compiled(value)) return [];
  return (compiled.errors ?? []).filter(isCause).map(problemOf);
}

function compileSchema(): ValidateFunction {
  const ajv = new Ajv2020({ allErrors: true, verbose: true, allowUnionTypes: true });
  ajv.addVocabulary(["x-rule", "x-help"]);
  return ajv.compile(manifestSchema);
}

/**
 * Of a failed condition only the consequence is reported: not the `if`, not what `contains` tried.
 */
function isCause({ keyword, schemaPath }: ErrorObject): boolean {
  return keyword !== "if" && !/\/(?:contains|anyOf)\/./.test(schemaPath);
}

const inOrder = new Intl.Collator("en", { numeric: true });

function distinct(problems: readonly ManifestProblem[]): ManifestProblem[] {
  const keyed = problems.map((problem): [string, ManifestProblem] => [
    `${problem.pointer} ${problem.rule} ${problem.message}`,
    problem,
  ]);
  return [...new Map(keyed).values()]
    .map((problem) => ({ ...problem, pointer: problem.pointer.split("/").map(cutText).join("/") }))
    .sort((a, b) => inOrder.compare(a.pointer, b.pointer));
}
