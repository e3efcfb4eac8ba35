import { Type } from "typebox";

import {
  ABSENT,
  asObject,
  closed,
  FREE_DATA_FORBIDDEN_KEYS,
  invalidRequest,
  type JsonDocument,
  type JsonNode,
  MEDIA_PART_TOKENS,
  OUTPUT_TOKENS_DEFAULT,
  pathText,
  READ_DEPTH_MAX,
  readJsonObject,
  refused,
  type Result,
  schemaCheck,
} from "../../../kernel/index.ts";
import { chatVocabulary, word } from "../../wire/fields/chat-vocabulary.ts";
import { isProblem, type Problem, problem, under } from "../../wire/fields/check-shape.ts";
import { checkProvider, ParsedBody } from "../../wire/fields/common-fields.ts";
import { findForbidden, scanDeeper, TOO_MANY_VALUES } from "../../wire/fields/forbidden-fields.ts";
import type { CallRequest } from "../../wire/modality.ts";
import { FRACTION } from "./grammar-gliner.ts";
import {
  atEntry,
  DECISION_WORDS,
  FILLED,
  plainSpellings,
  TEXT,
  type Grammar,
  type Members,
  findNode,
  orNull,
  problemIn,
  type Question,
  quoted,
  readMembers,
  type ReadQuestion,
  toSentence,
  parseValues,
} from "./question.ts";
import {
  GLINER_BODY_FIELDS,
  GLINER_OPTIONS,
  type ReadQuestions,
  readQuestions,
} from "./read-questions.ts";

/** Top-level fields that this schema checks. Others, such as `questions`, have their own checks. */
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

const memberNames = plainSpellings([
  ...checkedNames,
  "questions",
  "schema",
  "provider",
  "route",
  "models",
  "transforms",
]);

export function parseDecisionRequest(
  body: Buffer,
): Result<{ readonly request: ParsedDecisionRequest }> {
  const read = readJsonObject(body, chatVocabulary, { forbidden: FREE_DATA_FORBIDDEN_KEYS });
  if (!read.ok) return read;
  const parts = readParts(read.doc);
  if (isProblem(parts)) return refused(invalidRequest(toSentence(parts)));
  return { ok: true, request: new ParsedDecisionRequest(parts) };
}

function readParts(doc: JsonDocument): CheckedParts | Problem {
  const inspection = new Inspection();
  const flaw = inspection.visit(doc, 0, 0);
  if (flaw !== undefined) return flaw;
  const { images } = inspection;
  const members = readBody(doc);
  if (isProblem(members)) return members;
  const values = parseValues(doc, members, ...checkedNames);
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
  readonly values: Readonly<Record<string, unknown>>;
  readonly images: readonly ImagePart[];
  readonly questions: ReadQuestions;
}

function readBody(doc: JsonDocument): Members | Problem {
  const body = findForbidden(doc) ?? readMembers(doc, 0, memberNames);
  if (isProblem(body)) return body;
  const provider = findNode(body, "provider");
  const found = provider === ABSENT ? undefined : checkProvider(doc, provider);
  return found === undefined ? body : under("provider", found);
}

function foreignFieldProblem(body: Members, grammar: Grammar): Problem | undefined {
  const foreign = GLINER_BODY_FIELDS.find((name) => body.has(name));
  if (grammar === "gliner" || foreign === undefined) return undefined;
  return problem(DECISION_WORDS.unknown, foreign);
}

/** Kinds whose answers have character offsets into the state, which must then be a text. */
const spanKinds: ReadonlySet<string> = new Set(["entities", "relations", "structure"]);

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
    const got = Array.isArray(sent) ? "an array" : asObject(sent) && "an object";
    if (spanKinds.has(question.kind) && got !== undefined) {
      return atEntry(entry, problem(`${kind} a text state, got ${got}`));
    }
  }
  return undefined;
}

export class ParsedDecisionRequest extends ParsedBody implements CallRequest {
  readonly stream = false;
  readonly body: Buffer;
  readonly grammar: Grammar;
  /** The parsed value of `state`, or of `text`, which is the GLiNER name of `state`. */
  readonly state: unknown;
  readonly questions: readonly Question[];
  /** Paths such as `state.items[2]` of the `image_url` objects in state, questions and schema. */
  readonly imagePaths: readonly string[];
  readonly stateImages: number;
  /** Bytes of the state's JSON without inline base64. */
  readonly stateBytes: number;
  /** One token for each byte of the body without inline base64, and 65,536 for each image. */
  readonly estimatedInputTokens: number;
  /** A decision request has no output bound, so the gateway's default is reserved. */
  readonly outputTokens: number = OUTPUT_TOKENS_DEFAULT;
  /** Body fields that only GLiNER accepts (`threshold`, …), as sent. */
  readonly others: Readonly<Record<string, unknown>>;
  readonly members: Members;
  readonly read: readonly ReadQuestion[];
  readonly stateNode: JsonNode;

  constructor({ doc, members, values, images, questions }: CheckedParts) {
    super(doc);
    const inState = images.filter(({ isInState }) => isInState);
    this.stateNode = findNode(members, members.has("state") ? "state" : "text");
    this.body = doc.body;
    this.grammar = questions.grammar;
    this.state = values["state"] ?? values["text"];
    this.questions = questions.read.map(({ question }) => question);
    this.imagePaths = images.map(({ path }) => path);
    this.stateImages = inState.length;
    this.stateBytes = doc.end(this.stateNode) - doc.start(this.stateNode) - sumInlineBytes(inState);
    this.estimatedInputTokens =
      doc.body.length - sumInlineBytes(images) + images.length * MEDIA_PART_TOKENS;
    this.others = parseValues(doc, members, ...GLINER_OPTIONS);
    this.members = members;
    this.read = questions.read;
  }
}

function sumInlineBytes(images: readonly ImagePart[]): number {
  return images.reduce((sum, image) => sum + image.inlineBytes, 0);
}

interface ImagePart {
  readonly path: string;
  readonly isInState: boolean;
  readonly inlineBytes: number;
}

/** Bytes of the shortest value that can have a duplicate key or an image: `{"":0,"":0}`. */
const TELLING_BYTES_MIN = 11;
/** The only body members in which a model reads images. */
const readByModels = new Set<string | number>(["state", "questions", "schema"]);

/**
 * Collects images, and refuses duplicate keys at any depth: the provider might read another value
 * than the gateway.
 */
class Inspection {
  readonly images: ImagePart[] = [];
  readonly #path: (string | number)[] = [];

  /** `depth` is the number of containers of `doc` around `node`. */
  visit(doc: JsonDocument, node: JsonNode, depth: number): Problem | undefined {
    if (doc.end(node) - doc.start(node) < TELLING_BYTES_MIN) return undefined;
    if (depth === READ_DEPTH_MAX) return this.#visitDeeper(doc, node);
    if (doc.isObject(node)) return this.#visitObject(doc, node, depth);
    return doc.isArray(node) ? this.#visitArray(doc, node, depth) : undefined;
  }

  /** Scans a value below `READ_DEPTH_MAX`, where `doc` has no nodes: it can contain an image. */
  #visitDeeper(doc: JsonDocument, node: JsonNode): Problem | undefined {
    if (!doc.isObject(node) && !doc.isArray(node)) return undefined;
    const deeper = scanDeeper(doc, node);
    return deeper === undefined
      ? problem(TOO_MANY_VALUES, ...this.#path)
      : this.visit(deeper, 0, 0);
  }

  #visitObject(doc: JsonDocument, object: JsonNode, depth: number): Problem | undefined {
    const names = new Set<string>();
    for (const key of doc.keys(object)) {
      const name = doc.text(key);
      if (names.has(name)) return problem("is duplicated; send it once", ...this.#path, name);
      names.add(name);
      const found = this.#visitChild(name, doc, doc.valueOf(key), depth);
      if (found !== undefined) return found;
    }
    return this.#isImage(doc, object) ? this.#addImage(doc, object) : undefined;
  }

  #visitArray(doc: JsonDocument, array: JsonNode, depth: number): Problem | undefined {
    for (const [index, item] of doc.items(array).entries()) {
      const found = this.#visitChild(index, doc, item, depth);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #visitChild(
    step: string | number,
    doc: JsonDocument,
    node: JsonNode,
    depth: number,
  ): Problem | undefined {
    this.#path.push(step);
    const found = this.visit(doc, node, depth + 1);
    this.#path.pop();
    return found;
  }

  #isImage(doc: JsonDocument, object: JsonNode): boolean {
    if (!readByModels.has(this.#path[0] ?? "")) return false;
    const type = doc.member(object, word.type);
    return type !== ABSENT && doc.isString(type) && doc.word(type) === word.image_url;
  }

  #addImage(doc: JsonDocument, object: JsonNode): Problem | undefined {
    const inlineBytes = inlineImageBytes(doc, object);
    if (inlineBytes === undefined) {
      return problem(ONLY_INLINE, ...this.#path, "image_url", "url");
    }
    const isInState = this.#path[0] === "state";
    this.images.push({ path: pathText(this.#path), isInState, inlineBytes });
    return undefined;
  }
}

const ONLY_INLINE =
  "must be a data: URL with a png, jpeg or webp image in base64; nothing is fetched";

function inlineImageBytes(doc: JsonDocument, part: JsonNode): number | undefined {
  const image = doc.member(part, word.image_url);
  if (image === ABSENT || !doc.isObject(image)) return undefined;
  const url = doc.member(image, word.url);
  if (url === ABSENT || !doc.isString(url)) return undefined;
  if (!/^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(doc.text(url))) {
    return undefined;
  }
  // The length is measured in the body, because some clients escape every slash.
  const comma = doc.body.indexOf(0x2c, doc.start(url));
  return comma === -1 || comma >= doc.end(url) ? 0 : doc.end(url) - 1 - (comma + 1);
}
