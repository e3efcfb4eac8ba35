import { mediaPartTokens, outputTokensDefault } from "../../core/constants.ts";
import { invalidRequest, type Refusal } from "../../core/refusals.ts";
import { readControls, type ProviderControls } from "../../wire/fields/provider-controls.ts";
import { chatVocabulary, word } from "../../wire/fields/chat-vocabulary.ts";
import type { Problem } from "../../wire/fields/check-shape.ts";
import { readDroppedParams } from "../../wire/fields/common-fields.ts";
import { JsonDocument, type JsonNode } from "../../json/json-document.ts";
import { readJsonObject } from "../../json/read-json-object.ts";
import { FREE_DATA_FORBIDDEN_KEYS } from "../../json/scan-json.ts";
import { readBodyFields, foreignFieldProblem } from "./body-fields.ts";
import { type DecisionState, readState, stateProblem } from "./decision-state.ts";
import type { DecisionRequest, Question } from "./decision-wire.ts";
import { type ImagePart, inspectBody } from "./inspect-body.ts";
import { isProblem, type Members, sentenceOf } from "./members.ts";
import { type ReadQuestions, readQuestions } from "./read-questions.ts";
import { glinerOptions, type Grammar } from "./question-signs.ts";
import type { ReadQuestion } from "./read-question.ts";

/** Reads and checks a body, or gives the 400 that names the place; see `DecisionWire`. */
export function readDecisionRequest(body: Buffer): DecisionRequest | Refusal {
  const doc = readJsonObject(body, chatVocabulary, { forbidden: FREE_DATA_FORBIDDEN_KEYS });
  if (!(doc instanceof JsonDocument)) return doc;
  const parts = readParts(doc);
  return isProblem(parts) ? invalidRequest(sentenceOf(parts)) : new ReadDecision(parts);
}

function readParts(doc: JsonDocument): CheckedParts | Problem {
  const images = inspectBody(doc);
  if (isProblem(images)) return images;
  const members = readBodyFields(doc);
  if (isProblem(members)) return members;
  const questions = readQuestions(doc, members);
  if (isProblem(questions)) return questions;
  const found = foreignFieldProblem(members, questions.grammar);
  if (found !== undefined) return found;
  const state = readState(doc, members, images);
  if (isProblem(state)) return state;
  return stateProblem(doc, state, questions.read) ?? { doc, members, images, questions, state };
}

interface CheckedParts {
  readonly doc: JsonDocument;
  readonly members: Members;
  readonly images: readonly ImagePart[];
  readonly questions: ReadQuestions;
  readonly state: DecisionState;
}

/** A `DecisionRequest` with what eligibility and encoding need beside it. */
export class ReadDecision implements DecisionRequest {
  readonly modelId: string;
  readonly stream = false;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly body: Buffer;
  readonly grammar: Grammar;
  readonly state: unknown;
  readonly questions: readonly Question[];
  readonly imagePaths: readonly string[];
  readonly stateImages: number;
  readonly stateBytes: number;
  readonly estimatedInputTokens: number;
  /** Decision models write no text: what is reserved is the default of a request without a bound. */
  readonly outputTokens: number = outputTokensDefault;
  readonly others: Readonly<Record<string, unknown>>;
  readonly doc: JsonDocument;
  readonly members: Members;
  readonly read: readonly ReadQuestion[];
  readonly stateNode: JsonNode;

  constructor({ doc, members, images, questions, state }: CheckedParts) {
    const inlineBytes = images.reduce((sum, image) => sum + image.inlineBytes, 0);
    this.modelId = doc.text(doc.member(0, word.model));
    this.controls = readControls(doc);
    this.droppedParams = readDroppedParams(doc);
    this.body = doc.body;
    this.grammar = questions.grammar;
    this.state = doc.value(state.node);
    this.questions = questions.read.map(({ question }) => question);
    this.imagePaths = images.map(({ path }) => path);
    this.stateImages = state.images;
    this.stateBytes = state.bytes;
    this.estimatedInputTokens = doc.body.length - inlineBytes + images.length * mediaPartTokens;
    this.others = readOptions(doc, members);
    this.doc = doc;
    this.members = members;
    this.read = questions.read;
    this.stateNode = state.node;
  }
}

function readOptions(doc: JsonDocument, members: Members): Readonly<Record<string, unknown>> {
  const sent = glinerOptions.flatMap((name) => {
    const member = members.get(name);
    return member === undefined ? [] : [[name, doc.value(member.node)] as const];
  });
  return Object.fromEntries(sent);
}
