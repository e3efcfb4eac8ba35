import { ERROR_BODY_BYTES_MAX, asObject, textOf, tryParse } from "../../../kernel/index.ts";

/** What a provider said about its failure, collected from every shape that providers use. */
export interface ProviderErrorText {
  /** Lower-case codes, types and statuses, numbers as text. */
  readonly codes: readonly string[];
  /** The provider's own sentence; empty when it gave none. */
  readonly message: string;
  /** Everything that may be matched for wording, lower case. */
  readonly all: string;
  /** The field the provider names; empty when it names none. */
  readonly param: string;
  /** The provider listed reasons of moderation. */
  readonly flagged: boolean;
}

/** The message of an error body; what is not JSON counts as plain text, HTML not at all. */
export function readProviderErrorText(body: Buffer): ProviderErrorText {
  const text = body.toString("utf8").trim();
  const parsed = tryParse(text);
  if (parsed !== undefined) return wordsOf(parsed.value);
  const message = text.startsWith("<") || text.startsWith("{") ? "" : text;
  return {
    codes: [],
    message,
    all: message.slice(0, MATCHED_CHARS_MAX).toLowerCase(),
    param: "",
    flagged: false,
  };
}

/** The message of a parsed error body. */
export function wordsOf(value: unknown): ProviderErrorText {
  const speakers = findSpeakers(value);
  const codes = speakers.flatMap(codesOf);
  const sentences = speakers.map(sentenceOf).filter((sentence) => sentence !== "");
  const message = sentences[0] ?? textOf(value).slice(0, SENTENCE_CHARS_MAX);
  return {
    codes,
    message,
    all: [message, ...sentences].join("\n").slice(0, MATCHED_CHARS_MAX).toLowerCase(),
    param:
      speakers
        .map((speaker) => textOf(speaker["param"]))
        .find((name) => name !== "")
        ?.slice(0, CODE_CHARS_MAX) ?? "",
    flagged: speakers.some(isFlagged),
  };
}

/** The wording is near the start; the patterns stay quick on what a provider makes long. */
const MATCHED_CHARS_MAX = 8_192;
/** As long as a whole error body: some providers put another one into their sentence. */
const SENTENCE_CHARS_MAX = ERROR_BODY_BYTES_MAX;
/** Longer than any code or name of a field. */
const CODE_CHARS_MAX = 256;

type Speaker = Readonly<Record<string, unknown>>;

/** The objects of the body that can carry a code or a sentence, the most specific one first. */
function findSpeakers(value: unknown): Speaker[] {
  const root = asObject(Array.isArray(value) ? value[0] : value);
  if (root === undefined) return [];
  const error = asObject(root["error"]);
  const metadata = asObject(error?.["metadata"]);
  const first = Array.isArray(root["errors"]) ? asObject(root["errors"][0]) : undefined;
  const raw = asObject(tryParse(textOf(metadata?.["raw"]).slice(0, SENTENCE_CHARS_MAX))?.value);
  return [
    error,
    asObject(error?.["innererror"]),
    asObject(error?.["error"]),
    metadata,
    raw,
    asObject(raw?.["error"]),
    first,
    asObject(root["message"]),
    asObject(root["detail"]),
    root,
  ].filter((speaker) => speaker !== undefined);
}

function codesOf(speaker: Speaker): string[] {
  const found: string[] = [];
  for (const key of ["code", "type", "status", "error_type", "reason"]) {
    const value = speaker[key];
    if (typeof value === "string" || typeof value === "number") {
      found.push(String(value).slice(0, CODE_CHARS_MAX).toLowerCase());
    }
  }
  return found;
}

function sentenceOf(speaker: Speaker): string {
  for (const key of ["message", "msg", "detail", "error", "raw"]) {
    const value = speaker[key];
    if (typeof value === "string" && value !== "") return value.slice(0, SENTENCE_CHARS_MAX);
    if (!Array.isArray(value)) continue;
    const first = textOf(asObject(value[0])?.["msg"]);
    if (first !== "") return first.slice(0, SENTENCE_CHARS_MAX);
  }
  return "";
}

function isFlagged(speaker: Speaker): boolean {
  return Array.isArray(speaker["reasons"]) || typeof speaker["flagged_input"] === "string";
}
