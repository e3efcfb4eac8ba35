import type { Deployment } from "../../../catalog/index.ts";
import {
  arrayText,
  assert,
  compactJson,
  type EditedBytes,
  type JsonText,
  MEDIA_PART_TOKENS,
  objectText,
  quoteText,
  Splice,
  textBytes,
  textToken,
} from "../../../kernel/index.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";
import { KEPT_BACK, upstreamControls } from "../../wire/fields/common-fields.ts";
import type { UpstreamRequest } from "../../wire/modality.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";
import { namedText, type ReadQuestion } from "./question.ts";
import { GLINER_OPTIONS } from "./read-questions.ts";

export function encodeDecision(
  request: ParsedDecisionRequest,
  deployment: Deployment,
): UpstreamRequest {
  const listing = deployment.decisions;
  assert(listing !== undefined, "decisions go to decisions listings");
  assert(request.grammar === listing.wire, "questions go to models that read their grammar");
  return {
    path: listing.path,
    headers,
    body:
      listing.form === "public"
        ? toPublicFormat(request, deployment)
        : spliceRequest(request, deployment),
    droppedParams: request.droppedParams,
  };
}

const headers = { "content-type": "application/json" };

/** The gateway's own fields, and fields that only identify the client's user. */
const NOT_FORWARDED = [...KEPT_BACK, word.user, word.metadata, word.session_id];

function spliceRequest(
  { doc, modelId }: ParsedDecisionRequest,
  deployment: Deployment,
): EditedBytes {
  const splice = new Splice(doc);
  if (deployment.upstreamModelId !== modelId) {
    splice.replace(doc.member(0, word.model), textToken(deployment.upstreamModelId));
  }
  splice.remove(NOT_FORWARDED);
  const controls = upstreamControls(doc, deployment);
  if (controls !== undefined) splice.insert("provider", controls);
  return splice.result();
}

/** Writes the body in the provider's public API format. A GLiNER `state` becomes a text. */
function toPublicFormat(request: ParsedDecisionRequest, deployment: Deployment): Buffer {
  const { doc, grammar } = request;
  const own = grammar === "gliner" ? glinerMembers(request) : systemOneMembers(request);
  const model = textToken(deployment.upstreamModelId);
  const provider = upstreamControls(doc, deployment);
  return textBytes(objectText({ model, ...own, provider }));
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

/** At most one question is for entities and one for relations (see `servabilityProblem`). */
function schemaText(read: readonly ReadQuestion[]): JsonText {
  const tasks = listEncoded(read, "classification");
  const structures = read
    .filter(({ question }) => question.kind === "structure")
    .map(({ question, encoded }) => [question.id, encoded] as const);
  return objectText({
    entities: listEncoded(read, "entities")[0],
    classifications: tasks.length === 0 ? undefined : arrayText(tasks),
    structures: structures.length === 0 ? undefined : namedText(structures),
    relations: listEncoded(read, "relations")[0],
  });
}

function listEncoded(read: readonly ReadQuestion[], kind: string): readonly JsonText[] {
  return read.filter(({ question }) => question.kind === kind).map(({ encoded }) => encoded);
}

/**
 * One token per byte, and an allowance for each image. If the provider runs one prompt per
 * question, the tokens of the `state` are reserved for each question.
 */
export function inputTokens(request: ParsedDecisionRequest, deployment: Deployment): number {
  const once = request.estimatedInputTokens;
  if (deployment.decisions?.isStatePerQuestion !== true) return once;
  const stateTokens = request.stateBytes + request.stateImages * MEDIA_PART_TOKENS;
  return once + (request.questions.length - 1) * stateTokens;
}
