import type { Deployment } from "../../../catalog/index.ts";
import {
  arrayText,
  compactJson,
  type JsonText,
  objectText,
  quoteText,
  textBytes,
  textToken,
} from "../../../kernel/index.ts";
import { upstreamControls } from "../../wire/fields/deployment-fields.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";
import { namedText, type ReadQuestion } from "./question.ts";
import { GLINER_OPTIONS } from "./read-questions.ts";

/** The request in the public form of its wire: every value keeps the bytes it was sent in. */
export function lowerRequest(request: ParsedDecisionRequest, deployment: Deployment): Buffer {
  const { doc, grammar } = request;
  const own = grammar === "gliner" ? glinerMembers(request) : systemOneMembers(request);
  const members = {
    model: textToken(deployment.upstreamModelId),
    ...own,
    provider: upstreamControls(doc, deployment),
  };
  return textBytes(objectText(members));
}

type EncodedQuestion = Readonly<Record<string, JsonText | undefined>>;

function systemOneMembers({ doc, stateNode, read }: ParsedDecisionRequest): EncodedQuestion {
  const questions = read.map(({ question, encoded }) => [question.id, encoded] as const);
  return { state: doc.raw(stateNode), questions: namedText(questions) };
}

function glinerMembers({ doc, members, stateNode, read }: ParsedDecisionRequest): EncodedQuestion {
  const state = doc.raw(stateNode);
  const options = GLINER_OPTIONS.flatMap((name) => {
    const member = members.get(name);
    return member === undefined ? [] : [[name, doc.raw(member.node)] as const];
  });
  return {
    text: doc.isString(stateNode) ? state : quoteText(compactJson(state) as JsonText),
    schema: schemaText(read),
    ...Object.fromEntries(options),
  };
}

/** Each kind has a section; there is at most one question for entities and one for relations. */
function schemaText(read: readonly ReadQuestion[]): JsonText {
  const tasks = encodedOf(read, "classification");
  const structures = read
    .filter(({ question }) => question.kind === "structure")
    .map(({ question, encoded }) => [question.id, encoded] as const);
  return objectText({
    entities: encodedOf(read, "entities")[0],
    classifications: tasks.length === 0 ? undefined : arrayText(tasks),
    structures: structures.length === 0 ? undefined : namedText(structures),
    relations: encodedOf(read, "relations")[0],
  });
}

function encodedOf(read: readonly ReadQuestion[], kind: string): readonly JsonText[] {
  return read.filter(({ question }) => question.kind === kind).map(({ encoded }) => encoded);
}
