import { Type } from "typebox";
import {
  invalidRequest,
  MEDIA_PART_TOKENS,
  OUTPUT_TOKENS_DEFAULT,
  refused,
  type Result,
  ABSENT,
  closed,
  FREE_DATA_FORBIDDEN_KEYS,
  type JsonDocument,
  type JsonNode,
  readJsonObject,
  schemaCheck,
} from "../../../kernel/index.ts";
import type { CallRequest } from "../../wire/modality.ts";
import { chatVocabulary } from "../../wire/fields/chat-vocabulary.ts";
import {
  checkProvider,
  type ProviderControls,
  readControls,
} from "../../wire/fields/provider-controls.ts";
import { findCredential, refuseForbidden } from "../../wire/fields/forbidden-fields.ts";
import { problem, type Problem, under } from "../../wire/fields/check-shape.ts";
import { readDroppedParams } from "../../wire/fields/common-fields.ts";
import { type ImagePart, inspectBody } from "./inspect-body.ts";
import {
  DECISION_WORDS,
  isProblem,
  type Members,
  nodeOf,
  problemIn,
  quoted,
  readMembers,
  sentenceOf,
  valuesOf,
} from "./members.ts";
import { FRACTION } from "./grammar-gliner.ts";
import { atEntry, type Grammar, orNull, type Question, type ReadQuestion } from "./question.ts";
import {
  GLINER_BODY_FIELDS,
  GLINER_OPTIONS,
  type ReadQuestions,
  readQuestions,
} from "./read-questions.ts";

const FILLED = { type: "string", minLength: 1, description: "a non-empty string" };
const TEXT = { type: "string", description: "a string" };

/** The top level of a body, but for what is dropped and for `provider`, as it is on all routes. */
const fields = {
  model: Type.Unsafe({ ...FILLED, title: "an id from GET /v1/models" }),
  state: orNull({
    type: ["string", "object", "array"],
    minLength: 1,
    description: "a non-empty string, an object or an array",
  }),
  text: orNull(FILLED),
  threshold: orNull(FRACTION),
  include_confidence: orNull({ type: "boolean" }),
  include_spans: orNull({ type: "boolean" }),
  user: orNull(TEXT),
  metadata: orNull({ type: "object" }),
  session_id: orNull(TEXT),
};
const bodyFault = schemaCheck(closed(fields), DECISION_WORDS);
const checkedNames = Object.keys(fields);

/** Everything that a decisions body may have at its top level; nothing else is taken. */
const names = new Map(
  [...checkedNames, "questions", "schema", "provider", "route", "models", "transforms"].map(
    (name) => [name, name],
  ),
);

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
  const members = readBody(doc);
  if (isProblem(members)) return members;
  const values = valuesOf(doc, members, ...checkedNames);
  const fault = bodyFault(values);
  if (fault !== undefined) return problemIn(members, fault);
  const questions = readQuestions(doc, members);
  if (isProblem(questions)) return questions;
  const found =
    foreignFieldProblem(members, questions.grammar) ?? stateProblem(values, questions.read, images);
  return found ?? { doc, members, values, images, questions };
}

interface CheckedParts {
  readonly doc: JsonDocument;
  readonly members: Members;
  /** The top level parsed. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly images: readonly ImagePart[];
  readonly questions: ReadQuestions;
}

function readBody(doc: JsonDocument): Members | Problem {
  const forbidden = doc.keys(0).map((key) => refuseForbidden(doc.text(key)));
  const credential = forbidden.find((found) => found !== undefined) ?? findCredential(doc);
  const body = credential ?? readMembers(doc, 0, names);
  if (isProblem(body)) return body;
  const provider = nodeOf(body, "provider");
  const found = provider === ABSENT ? undefined : checkProvider(doc, provider);
  return found === undefined ? body : under("provider", found);
}

/** What a body of this grammar does not take although another one does. */
function foreignFieldProblem(body: Members, grammar: Grammar): Problem | undefined {
  const foreign = GLINER_BODY_FIELDS.find((name) => body.has(name));
  if (grammar === "gliner" || foreign === undefined) return undefined;
  return problem(DECISION_WORDS.unknown, foreign);
}

/** Kinds whose answer points into a text: offsets in serialised JSON would mean nothing. */
const spanKinds: ReadonlySet<string> = new Set(["entities", "relations", "structure"]);

/** What is wrong with the state, which GLiNER bodies may call `text`; or does not fit a question. */
function stateProblem(
  { state, text }: CheckedParts["values"],
  questions: readonly ReadQuestion[],
  images: readonly ImagePart[],
): Problem | undefined {
  const sent = state ?? text;
  if (sent === undefined) return problem("required", "state");
  if (text !== undefined && text !== sent) {
    return problem("differs from state; send one of them", "text");
  }
  for (const { question, entry } of questions) {
    const kind = `kind ${quoted(question.kind)} needs`;
    if (question.kind === "box" && !images.some(({ isInState }) => isInState)) {
      return atEntry(entry, problem(`${kind} an image in state`));
    }
    if (spanKinds.has(question.kind) && typeof sent !== "string") {
      const got = Array.isArray(sent) ? "an array" : "an object";
      return atEntry(entry, problem(`${kind} a text state, got ${got}`));
    }
  }
  return undefined;
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

  constructor({ doc, members, values, images, questions }: CheckedParts) {
    const inState = images.filter(({ isInState }) => isInState);
    this.stateNode = nodeOf(members, members.has("state") ? "state" : "text");
    this.modelId = doc.text(nodeOf(members, "model"));
    this.controls = readControls(doc);
    this.droppedParams = readDroppedParams(doc);
    this.body = doc.body;
    this.grammar = questions.grammar;
    this.state = values["state"] ?? values["text"];
    this.questions = questions.read.map(({ question }) => question);
    this.imagePaths = images.map(({ path }) => path);
    this.stateImages = inState.length;
    this.stateBytes = doc.end(this.stateNode) - doc.start(this.stateNode) - inlineBytes(inState);
    this.estimatedInputTokens =
      doc.body.length - inlineBytes(images) + images.length * MEDIA_PART_TOKENS;
    this.others = valuesOf(doc, members, ...GLINER_OPTIONS);
    this.doc = doc;
    this.members = members;
    this.read = questions.read;
  }
}

function inlineBytes(images: readonly ImagePart[]): number {
  return images.reduce((sum, image) => sum + image.inlineBytes, 0);
}
