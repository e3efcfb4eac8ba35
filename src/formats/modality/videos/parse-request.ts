import { isUtf8 } from "node:buffer";

import {
  asObject,
  FALSE_KIND,
  invalidRequest,
  type JsonDocument,
  type JsonNode,
  membersOf,
  NUMBER_KIND,
  readJsonObject,
  type Refused,
  refused,
  type Result,
} from "../../../kernel/index.ts";
import { chatVocabulary } from "../../wire/fields/chat-vocabulary.ts";
import {
  anything,
  type Check,
  isFilledText,
  isProblem,
  optional,
  type Problem,
  problem,
  refuseProblem,
  shape,
  under,
} from "../../wire/fields/check-shape.ts";
import { checkProvider, ParsedBody } from "../../wire/fields/common-fields.ts";
import { findCredential, refuseForbidden } from "../../wire/fields/forbidden-fields.ts";
import type { CallRequest } from "../../wire/modality.ts";

export function parseVideoRequest(
  body: Buffer,
  contentType = "",
): Result<{ readonly request: ParsedVideoRequest }> {
  const isForm = /^\s*multipart\/form-data\b/i.test(contentType);
  const sent = isForm ? formToJson(body, contentType) : ({ ok: true, json: body } as const);
  if (!sent.ok) return sent;
  const read = readJsonObject(sent.json, chatVocabulary);
  if (!read.ok) return read;
  const { doc } = read;
  const found = findImage(doc) ?? checkBody(doc, 0) ?? findCredential(doc);
  if (found !== undefined) return refuseProblem(found);
  const members = readFields(doc);
  if (isProblem(members)) return refuseProblem(members);
  return { ok: true, request: new ParsedVideoRequest(doc, members) };
}

/** A checked video request. `servabilityProblem` checks the fields that depend on the listing. */
export class ParsedVideoRequest extends ParsedBody implements CallRequest {
  readonly stream = false;
  readonly prompt: string;
  /** The length in seconds that the client asks for; undefined: the listing's default applies. */
  readonly seconds: number | undefined;
  /** `resolution`, `aspect_ratio`, `size` and `generate_audio`; numbers become texts. */
  readonly options: Readonly<Record<string, string | boolean>>;
  readonly estimatedInputTokens: number;
  /** 0, because a video is measured in seconds, not in output tokens. */
  readonly outputTokens = 0;
  /** By name, the prompt and all other fields that are neither null nor in `ownNames`. */
  readonly nodes: ReadonlyMap<string, JsonNode>;

  constructor(doc: JsonDocument, { seconds, nodes }: VideoFields) {
    super(doc);
    this.prompt = doc.text(nodes.get("prompt") ?? 0);
    this.seconds = seconds;
    this.options = presentOptions(doc, nodes);
    this.estimatedInputTokens = doc.body.length;
    this.nodes = nodes;
  }
}

const SHOWN = ["resolution", "aspect_ratio", "size", "generate_audio"] as const;

function presentOptions(
  doc: JsonDocument,
  nodes: ReadonlyMap<string, JsonNode>,
): ParsedVideoRequest["options"] {
  const options: Record<string, string | boolean> = {};
  for (const name of SHOWN) {
    const node = nodes.get(name);
    if (node === undefined || doc.isObject(node) || doc.isArray(node)) continue;
    const value = doc.value(node);
    // The job is stored as JSON, in which PostgreSQL refuses U+0000 and half of a surrogate pair.
    const storable = String(value).toWellFormed().replaceAll("\0", "\ufffd");
    options[name] = typeof value === "boolean" ? value : storable;
  }
  return options;
}

interface VideoFields {
  readonly seconds: number | undefined;
  readonly nodes: ReadonlyMap<string, JsonNode>;
}

const noStream: Check = (doc, node) =>
  doc.kind(node) === FALSE_KIND
    ? undefined
    : problem("must be false or left out: a video is a job; poll it with GET /v1/videos/{id}");

const oneVideo: Check = (doc, node) =>
  doc.kind(node) === NUMBER_KIND && doc.number(node) === 1
    ? undefined
    : problem("must be 1: a request makes one video");

const noFormat: Check = () => problem("is not accepted: the file comes from /content; remove it");

const checkBody: Check = shape(
  {
    model: isFilledText,
    provider: optional(checkProvider),
    route: anything,
    models: anything,
    transforms: anything,
    stream: optional(noStream),
    n: optional(oneVideo),
    response_format: optional(noFormat),
  },
  { required: ["model"], other: refuseForbidden },
);

/** Fields that the gateway handles itself. `findUnlistedField` does not check them. */
const ownNames = new Set([
  "model", "provider", "route", "models", "transforms", "stream", "n", "response_format", "seconds",
]); // prettier-ignore

function readFields(doc: JsonDocument): VideoFields | Problem {
  const nodes = new Map<string, JsonNode>();
  let seconds: number | undefined;
  for (const key of doc.keys(0)) {
    const name = doc.text(key);
    const node = doc.valueOf(key);
    if (doc.isNull(node)) continue;
    const problemOfName = refuseField(name);
    if (problemOfName !== undefined) return problemOfName;
    if (name === "seconds") {
      seconds = secondsIn(doc, node);
      if (seconds === undefined) return problem("must be a whole number of seconds", name);
    }
    if (!ownNames.has(name)) nodes.set(name, node);
  }
  const prompt = nodes.get("prompt");
  if (prompt === undefined) return problem("is missing; add it", "prompt");
  const found = isFilledText(doc, prompt);
  return found === undefined ? { seconds, nodes } : under("prompt", found);
}

/** Accepts a string of digits too, because one official client sends the seconds as text. */
function secondsIn(doc: JsonDocument, node: JsonNode): number | undefined {
  if (doc.isString(node)) {
    const text = doc.text(node);
    return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  }
  if (doc.kind(node) !== NUMBER_KIND) return undefined;
  const value = doc.number(node);
  return Number.isSafeInteger(value) ? value : undefined;
}

function findImage(doc: JsonDocument): Problem | undefined {
  for (const key of doc.keys(0)) {
    const node = doc.valueOf(key);
    if (!doc.isObject(node) && !doc.isArray(node)) continue;
    const path = imageIn(doc.value(node), [doc.text(key)]);
    if (path !== undefined) return problem(NO_IMAGES, ...path);
  }
  return undefined;
}

type Path = readonly (string | number)[];

function imageIn(value: unknown, path: Path): Path | undefined {
  if (imageTypes.has(asObject(value)?.["type"])) return path;
  for (const [name, inner] of membersOf(value) ?? []) {
    const step = Array.isArray(value) ? Number(name) : name;
    const found = imageIn(inner, [...path, step]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Maximum parts of a form. Each item of a list and each member of an object is a part. */
const PARTS_MAX = 256;
const PART_HEAD_BYTES_MAX = 4_096;
/** The boundary of a form in its `content-type` (RFC 2046, section 5.1.1). */
const BOUNDARY = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i;
const LINE_END = "\r\n";

/**
 * Converts a form's text fields (RFC 7578) to JSON, because one official client sends every video
 * request as a form. A file is refused with its field's name, because no images are accepted.
 */
export function formToJson(body: Buffer, contentType: string): Result<{ readonly json: Buffer }> {
  const found = BOUNDARY.exec(contentType);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined) return notAForm("its content-type names no boundary");
  const members: FormObject = new Map();
  let partCount = 0;
  for (const part of iterateParts(body, `--${boundary}`)) {
    if (part === undefined) return notAForm("it cannot be read");
    if (partCount === PARTS_MAX) return notAForm("it has too many parts");
    partCount += 1;
    const { name, isFile, text } = part;
    if (isFile) return refuseForm(`${name} is a file; videos are made from a text alone`);
    if (!addField(members, name, jsonValue(name, text))) {
      return refuseForm(`${name} is sent twice, or conflicts with another field; send it once`);
    }
  }
  return { ok: true, json: Buffer.from(toJson(members)) };
}

/** A value of a form. A string is the JSON text of a value other than an object or a list. */
type FormValue = string | FormValue[] | FormObject;
type FormObject = Map<string, FormValue>;

/** Matches the name of a member, `a[b]`, or of an item of a list, `a[b][]`. */
const NESTED = /^[^[\]]+(?:\[[^[\]]+\]){0,4}(?:\[\])?$/;

/** False if the object already has the field, or has a value of another kind in its place. */
function addField(members: FormObject, name: string, json: string): boolean {
  const path = NESTED.test(name) ? name.replaceAll("]", "").split("[") : [name];
  let holder: FormValue = members;
  for (const [at, step] of path.entries()) {
    const next = path[at + 1];
    const known: FormValue | undefined = holder instanceof Map ? holder.get(step) : undefined;
    const value: FormValue = known ?? (next === undefined ? json : next === "" ? [] : new Map());
    if (known !== undefined && next === undefined) return false;
    if (holder instanceof Map && step !== "") holder.set(step, value);
    else if (Array.isArray(holder) && step === "") holder.push(value);
    else return false;
    holder = value;
  }
  return true;
}

function toJson(value: FormValue): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
  const members = [...value].map(([name, inner]) => `${JSON.stringify(name)}:${toJson(inner)}`);
  return `{${members.join(",")}}`;
}

/** Form fields are texts. Those that the gateway reads as a boolean or number are converted. */
function jsonValue(name: string, text: string): string {
  const isSwitch = SWITCHES.test(name) && (text === "true" || text === "false");
  return isSwitch || (name === "n" && /^[1-9]\d{0,8}$/.test(text)) ? text : JSON.stringify(text);
}

const SWITCHES =
  /^(?:generate_audio|stream|provider\[(?:allow_fallbacks|require_parameters|upstream\]\[allow_fallbacks)\])$/;

interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  readonly text: string;
}

/** Yields undefined and ends if the next bytes are not a part. */
function* iterateParts(body: Buffer, delimiter: string): Generator<FormPart | undefined> {
  let at = body.indexOf(delimiter) === 0 ? delimiter.length : -1;
  while (at !== -1) {
    if (body.toString("latin1", at, at + 2) === "--") return;
    const headAt = at + LINE_END.length;
    const headEnd = body.indexOf(LINE_END + LINE_END, at);
    const textEnd = body.indexOf(LINE_END + delimiter, headEnd);
    const isPart = headEnd !== -1 && headEnd - headAt <= PART_HEAD_BYTES_MAX && textEnd !== -1;
    const text = body.subarray(headEnd + 2 * LINE_END.length, textEnd);
    const part = isPart ? parsePart(body.toString("utf8", headAt, headEnd), text) : undefined;
    yield part;
    if (part === undefined) return;
    at = textEnd + LINE_END.length + delimiter.length;
  }
  yield undefined;
}

function parsePart(head: string, bytes: Buffer): FormPart | undefined {
  const disposition = /^content-disposition:\s*form-data;(.*)$/im.exec(head)?.[1];
  const name = /(?:^|;)\s*name="([^"]{1,128})"/i.exec(disposition ?? "")?.[1];
  if (disposition === undefined || name === undefined || !isUtf8(bytes)) return undefined;
  return { name, isFile: /;\s*filename\*?=/i.test(disposition), text: bytes.toString("utf8") };
}

function notAForm(reason: string): Refused {
  return refuseForm(
    `the form body cannot be read: ${reason}; send one JSON object as application/json`,
  );
}

function refuseForm(message: string): Refused {
  return refused(invalidRequest(message));
}

const imageNames = new Set([
  "first_frame", "frame_images", "image", "image_url", "images", "input_image", "input_reference",
  "input_references", "last_frame", "reference_image", "reference_images",
]); // prettier-ignore

const imageTypes: ReadonlySet<unknown> = new Set(["image_url", "input_image"]);

const NO_IMAGES = "is not accepted: a video is made from text alone on this route; remove it";

function refuseField(name: string): Problem | undefined {
  if (imageNames.has(name)) return problem(NO_IMAGES, name);
  if (name === "duration") return problem("is not accepted; send seconds", name);
  if (name !== "callback_url") return undefined;
  return problem(
    "is not supported: the gateway sends no callbacks; poll GET /v1/videos/{id}",
    name,
  );
}
