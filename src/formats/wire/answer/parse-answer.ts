import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";

import { asObject, JsonBudget, tryParse, valueEndIn } from "../../../kernel/index.ts";
import type { AnswerJson } from "../neutral/chat-answer.ts";

/** A provider's body, parsed but for what nobody reads. */
export interface ParsedAnswer extends AnswerJson {
  /** What is made of `text`, with the provider's own bytes where they were left out. */
  readonly restored: (made: string) => string;
}

/** `unusable`: it is no JSON object; `too large`: it is beyond the bounds of what is parsed. */
export function parseAnswer(body: Buffer): ParsedAnswer | "unusable" | "too large" {
  if (!isUtf8(body)) return "unusable";
  const text = textIn(body);
  if (new JsonBudget().allows(text)) return parsed(text, (made) => made);
  const part = logprobsIn(body);
  if (part === undefined) return "too large";
  const { start, end } = part;
  const mark = JSON.stringify(randomUUID());
  const rest = textIn(body.subarray(0, start)) + mark + body.toString("utf8", end);
  // Finding the part took most of the time that an answer may take.
  if (!new JsonBudget(REST_VALUES_MAX).allows(rest)) return "too large";
  return parsed(rest, (made) => made.replace(mark, () => body.toString("utf8", start, end)));
}

function parsed(text: string, restored: ParsedAnswer["restored"]): ParsedAnswer | "unusable" {
  const value = asObject(tryParse(text)?.value);
  return value === undefined ? "unusable" : { text, value, restored };
}

function textIn(bytes: Buffer): string {
  const decoded = bytes.toString("utf8");
  return decoded.charCodeAt(0) === BYTE_ORDER_MARK ? decoded.slice(1) : decoded;
}

/**
 * The first object of log probabilities: those of 4,096 tokens with 20 alternatives are a million
 * values, which take longer to parse than one step may.
 */
function logprobsIn(body: Buffer): { readonly start: number; readonly end: number } | undefined {
  let at = body.indexOf(KEY);
  for (let tries = 0; at !== -1 && tries < TRIES_MAX; tries += 1) {
    const behind = body.toString("latin1", at - 1, at + KEY.length + BLANKS_MAX);
    // In a string, the quote before the word has a backslash.
    const found = /^[^\\]"logprobs"\s*:\s*(?=\{)/.exec(behind);
    if (found !== null) {
      const start = at - 1 + found[0].length;
      const end = valueEndIn(body.subarray(0, start + PART_BYTES_MAX), start);
      return end === undefined ? undefined : { start, end };
    }
    at = body.indexOf(KEY, at + KEY.length);
  }
  return undefined;
}

const BYTE_ORDER_MARK = 0xfeff;
const KEY = '"logprobs"';
const BLANKS_MAX = 100;
/** Other members of the name come before: `null`, or a string that ends like it. */
const TRIES_MAX = 16;
/** 4,700 tokens with 20 alternatives. */
const PART_BYTES_MAX = 8_000_000;
const REST_VALUES_MAX = 50_000;
