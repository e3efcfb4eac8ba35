import {
  invalidRequest,
  MEDIA_PART_TOKENS,
  OUTPUT_TOKENS_DEFAULT,
  refused,
  type Result,
} from "../../core/index.ts";
import {
  FREE_DATA_FORBIDDEN_KEYS,
  type JsonDocument,
  type JsonNode,
  readJsonObject,
} from "../../json/index.ts";
import {
  type CallRequest,
  chatVocabulary,
  type Problem,
  type ProviderControls,
  readControls,
  readDroppedParams,
  word,
} from "../../wire/index.ts";
import { readBodyFields, foreignFieldProblem } from "./body-fields.ts";
import { type DecisionState, readState, stateProblem } from "./decision-state.ts";
import { type ImagePart, inspectBody } from "./inspect-body.ts";
import { isProblem, type Members, sentenceOf } from "./members.ts";
import { GLINER_OPTIONS, type Grammar } from "./question-signs.ts";
import type { Question } from "./question.ts";
import type { ReadQuestion } from "./read-question.ts";
import { type ReadQuestions, readQuestions } from "./read-questions.ts";

/** Reads and checks a body, or gives the 400 that names the place. */
export function parseDecisionRequest(
  body: Buffer,
): Result<{ readonly request: ParsedDecisionRequest }> {
  const read = readJsonObject(body, chatVocabulary, { forbidden: FREE_DATA_FORBIDDEN_KEYS });
  if (!read.ok) return read;
  const parts = readParts(read.doc);
  if (isProblem(parts)) return refused(invalidRequest(sentenceOf(parts)));
  return { ok: true, request: new ParsedDecisionRequest(parts) };
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

/** A decisions request read and checked at the door, in the grammar it was written in. */
export class ParsedDecisionRequest implements CallRequest {
  readonly modelId: string;
  readonly stream = false;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  /** The client's body as it came. */
  readonly body: Buffer;
  /** Which grammar the questions are written in. */
  readonly grammar: Grammar;
  /** Parsed; JSON or text, whether it came as `state` or as `text`. */
  readonly state: unknown;
  readonly questions: readonly Question[];
  /** Paths of `image_url` objects in state and questions, `state.items[2]`. */
  readonly imagePaths: readonly string[];
  /** Of these in the state. */
  readonly stateImages: number;
  /** Bytes of the state's JSON without inline base64. */
  readonly stateBytes: number;
  /** Once over everything: bytes without inline base64, and 65,536 for each image. */
  readonly estimatedInputTokens: number;
  /** Decision models write no text: what is reserved is the default of a request without a bound. */
  readonly outputTokens: number = OUTPUT_TOKENS_DEFAULT;
  /** Other fields of the body that the grammar takes (`threshold`, …), as sent. */
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
    this.estimatedInputTokens = doc.body.length - inlineBytes + images.length * MEDIA_PART_TOKENS;
    this.others = readOptions(doc, members);
    this.doc = doc;
    this.members = members;
    this.read = questions.read;
    this.stateNode = state.node;
  }
}

function readOptions(doc: JsonDocument, members: Members): Readonly<Record<string, unknown>> {
  const sent = GLINER_OPTIONS.flatMap((name) => {
    const member = members.get(name);
    return member === undefined ? [] : [[name, doc.value(member.node)] as const];
  });
  return Object.fromEntries(sent);
}
