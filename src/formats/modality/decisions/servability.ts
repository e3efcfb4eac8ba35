import type { Deployment } from "../../../catalog/index.ts";
import { assert, pathText } from "../../../kernel/index.ts";
import { problem, type Problem } from "../../wire/fields/check-shape.ts";
import type { Unservable } from "../../wire/modality.ts";
import { schemaMissing } from "./grammar-systemone.ts";
import { atEntry, type Question, quoted, type ReadQuestion, toSentence } from "./question.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";
import { foreignSchema, listGlinerFields } from "./read-questions.ts";

export function servabilityProblem(
  request: ParsedDecisionRequest,
  deployment: Deployment,
): Unservable | undefined {
  const listing = deployment.decisions;
  assert(listing !== undefined, "decisions go to decisions listings");
  if (request.grammar !== listing.wire) return unservable(foreignGrammar(request));
  const [image] = request.imagePaths;
  if (image !== undefined && !listing.readsImages) return unreadImage(image);
  const found = listing.form === "public" ? visibilityProblem(request.questions) : undefined;
  return found && unservable(found);
}

function unservable(found: Problem): Unservable {
  return { field: pathText(found.path), message: toSentence(found) };
}

function foreignGrammar({ doc, grammar, members, read }: ParsedDecisionRequest): Problem {
  if (grammar === "gliner" && members.has("schema")) return foreignSchema;
  const [first] = read;
  assert(first !== undefined, "a request that was read has a question");
  if (grammar === "systemone") return foreignToGliner(doc, first);
  for (const { entry, question } of read) {
    const fields = listGlinerFields(doc, entry.node);
    if (fields.length > 0) return foreignToSystemOne(question.id, fields);
  }
  return atEntry(first.entry, schemaMissing);
}

function foreignToSystemOne(id: string, fields: readonly string[]): Problem {
  const has = `question ${quoted(id)} has GLiNER fields (${fields.join(", ")})`;
  return problem(`this model reads systemone questions; ${has}`, "questions");
}

function foreignToGliner(
  doc: ParsedDecisionRequest["doc"],
  { entry, question }: ReadQuestion,
): Problem {
  const hasSchema = doc.keys(entry.node).some((key) => doc.text(key) === "schema");
  if (hasSchema) {
    return atEntry(
      entry,
      problem("this model reads GLiNER questions and accepts no schema", "schema"),
    );
  }
  const has = `question ${quoted(question.id)} has a systemone type (${question.kind})`;
  return problem(`this model reads GLiNER questions; ${has}`, "questions");
}

function unreadImage(path: string): Unservable {
  const message = `${path}: an image_url object, and no deployment of this model reads images`;
  return { field: path, message };
}

/**
 * Refuses a second question for entities or for relations, because the public GLiNER format has
 * only one section for each.
 */
function visibilityProblem(questions: readonly Question[]): Problem | undefined {
  for (const kind of ["entities", "relations"]) {
    const ofKind = questions.filter((question) => question.kind === kind);
    const [, second] = ofKind;
    if (second === undefined) continue;
    return problem(
      `this model accepts one question of kind "${kind}"; put all its labels into one`,
      "questions",
    );
  }
  return undefined;
}
