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
  if (image !== undefined && !listing.readsImages) {
    const message = `${image}: an image_url object, and no deployment of this model reads images`;
    return { field: image, message };
  }
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
    if (fields.length === 0) continue;
    const has = `question ${quoted(question.id)} has GLiNER fields (${fields.join(", ")})`;
    return problem(`this model reads systemone questions; ${has}`, "questions");
  }
  return atEntry(first.entry, schemaMissing);
}

function foreignToGliner(
  doc: ParsedDecisionRequest["doc"],
  { entry, question }: ReadQuestion,
): Problem {
  const hasSchema = doc.keys(entry.node).some((key) => doc.text(key) === "schema");
  if (hasSchema) {
    const message = "this model reads GLiNER questions and accepts no schema";
    return atEntry(entry, problem(message, "schema"));
  }
  const has = `question ${quoted(question.id)} has a systemone type (${question.kind})`;
  return problem(`this model reads GLiNER questions; ${has}`, "questions");
}

/** The public GLiNER format has one section for all entities and one for all relations. */
function visibilityProblem(questions: readonly Question[]): Problem | undefined {
  const twice = ["entities", "relations"].find(
    (kind) => questions.filter((question) => question.kind === kind).length > 1,
  );
  if (twice === undefined) return undefined;
  return problem(
    `this model accepts one question of kind "${twice}"; put all its labels into one`,
    "questions",
  );
}
