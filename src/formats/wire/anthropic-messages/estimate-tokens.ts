import { ABSENT, asObject, type JsonDocument } from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";

/** Tokens that common chat templates add to a request, a message, and a tool, call or result. */
const REQUEST_TOKENS = 3;
const MESSAGE_TOKENS = 4;
const TOOL_TOKENS = 8;
/** Tokens that providers commonly count for a picture, whatever the size of its file. */
const IMAGE_TOKENS = 1_600;
/** A document page has about 3,000 tokens and 100,000 base64 characters: 32 for every token. */
const BASE64_CHARS_PER_TOKEN = 32;

/** Estimates without a model's tokenizer, never for billing. Equal bodies give equal numbers. */
export function estimateDocument(doc: JsonDocument): number {
  const member = (wordId: number): unknown => {
    const node = doc.present(0, wordId);
    return node === ABSENT ? undefined : doc.value(node);
  };
  return (
    REQUEST_TOKENS +
    contentTokens(member(word.system)) +
    sum(
      asList(member(word.messages)),
      (message) => MESSAGE_TOKENS + contentTokens(readField(message, "content")),
    ) +
    sum(asList(member(word.tools)), (tool) => TOOL_TOKENS + jsonTokens(tool))
  );
}

function contentTokens(content: unknown): number {
  if (typeof content === "string") return textTokens(content);
  return sum(asList(content), blockTokens);
}

function blockTokens(block: unknown): number {
  switch (readField(block, "type")) {
    case "text":
      return contentTokens(readField(block, "text"));
    case "image":
      return IMAGE_TOKENS;
    case "document":
      return documentTokens(readField(block, "source"));
    case "tool_use":
      return (
        TOOL_TOKENS +
        contentTokens(readField(block, "name")) +
        jsonTokens(readField(block, "input"))
      );
    case "tool_result":
      return TOOL_TOKENS + contentTokens(readField(block, "content"));
    case "thinking":
    case "redacted_thinking":
      // The thinking of earlier turns counts as 0 tokens, because models do not read it again.
      return 0;
    default:
      return jsonTokens(block);
  }
}

function documentTokens(source: unknown): number {
  const data = readField(source, "data");
  switch (readField(source, "type")) {
    case "text":
      return contentTokens(data);
    case "content":
      return contentTokens(readField(source, "content"));
    default: {
      const chars = typeof data === "string" ? data.length : 0;
      return Math.max(IMAGE_TOKENS, Math.ceil(chars / BASE64_CHARS_PER_TOKEN));
    }
  }
}

function jsonTokens(value: unknown): number {
  const unmarked = (key: string, inner: unknown): unknown =>
    key === "cache_control" ? undefined : inner;
  return textTokens(JSON.stringify(value, unmarked) ?? "");
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function readField(value: unknown, name: string): unknown {
  return asObject(value)?.[name];
}

function sum(values: readonly unknown[], tokensOf: (value: unknown) => number): number {
  return values.reduce<number>((total, value) => total + tokensOf(value), 0);
}

type RunKind = "letters" | "digits" | "spaces" | "symbols" | "wide" | "other";

const CHARS_PER_TOKEN: Readonly<Record<RunKind, number>> = {
  letters: 6,
  digits: 3,
  spaces: Number.POSITIVE_INFINITY,
  symbols: 2,
  wide: 1,
  other: 2,
};

/**
 * A short word counts as one token and a long word as several; digits count in groups of three, and
 * each ideograph is one token. Takes linear time.
 */
export function textTokens(text: string): number {
  let tokens = 0;
  let start = 0;
  let kind: RunKind = "spaces";
  for (let at = 0; at < text.length; at += 1) {
    const next = classifyCharacter(text.charCodeAt(at));
    if (next === kind) continue;
    tokens += runTokens(kind, at - start);
    kind = next;
    start = at;
  }
  return tokens + runTokens(kind, text.length - start);
}

function runTokens(kind: RunKind, chars: number): number {
  // A single space is part of the next word's token. A longer run of blanks is one token.
  if (kind === "spaces") return chars > 1 ? 1 : 0;
  return Math.ceil(chars / CHARS_PER_TOKEN[kind]);
}

function classifyCharacter(code: number): RunKind {
  if ((code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)) return "letters";
  if (code <= 0x20) return "spaces";
  if (code >= 0x30 && code <= 0x39) return "digits";
  if (code < 0xc0) return "symbols";
  if (code < 0x250) return "letters";
  // This range has kana, ideographs, Hangul and surrogates.
  return code >= 0x2e80 && code <= 0xdfff ? "wide" : "other";
}
