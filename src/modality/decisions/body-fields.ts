import type { JsonDocument } from "../../json/index.ts";
import {
  anything,
  type Check,
  checkProvider,
  findCredential,
  isBoolean,
  isFilledText,
  isObject,
  isText,
  problem,
  type Problem,
  refuseForbidden,
  under,
} from "../../wire/index.ts";
import { isFraction } from "./gliner-checks.ts";
import { isProblem, type Members, NOT_TAKEN, readMembers, spellings } from "./members.ts";
import { GLINER_BODY_FIELDS, type Grammar } from "./question-signs.ts";

/** Everything a decisions body may have at its top level; nothing else is taken. */
const checks: ReadonlyMap<string, Check> = new Map(
  Object.entries({
    model: isFilledText,
    state: isState,
    text: isFilledText,
    questions: anything,
    schema: anything,
    threshold: isFraction,
    include_confidence: isBoolean,
    include_spans: isBoolean,
    provider: checkProvider,
    user: isText,
    metadata: isObject,
    session_id: isText,
    route: anything,
    models: anything,
    transforms: anything,
  }),
);
const names = spellings(Object.fromEntries([...checks.keys()].map((name) => [name, name])));

/** The checked top level of a body. */
export function readBodyFields(doc: JsonDocument): Members | Problem {
  const forbidden = doc.keys(0).map((key) => refuseForbidden(doc.text(key)));
  const credential = forbidden.find((found) => found !== undefined) ?? findCredential(doc);
  const body = credential ?? readMembers(doc, 0, names);
  if (isProblem(body)) return body;
  if (!body.has("model")) return problem("required: an id from GET /v1/models", "model");
  for (const [name, { node }] of body) {
    const found = checks.get(name)?.(doc, node);
    if (found !== undefined) return under(name, found);
  }
  return body;
}

function isState(...[doc, node]: Parameters<Check>): ReturnType<Check> {
  if (doc.isObject(node) || doc.isArray(node)) return undefined;
  return isFilledText(doc, node) && notState;
}
const notState = problem("must be a non-empty string, an object or an array");

/** What a body of this grammar does not take although another one does. */
export function foreignFieldProblem(body: Members, grammar: Grammar): Problem | undefined {
  if (grammar === "gliner") return undefined;
  const foreign = GLINER_BODY_FIELDS.find((name) => body.has(name));
  return foreign === undefined ? undefined : problem(NOT_TAKEN, foreign);
}
