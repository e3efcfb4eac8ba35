import { asObject } from "../../../kernel/index.ts";
import { contentPolicyWording } from "../../wire/failure/content-policy-wording.ts";
import { speaksOf } from "../../wire/failure/wording.ts";
import { wordsOf } from "../../wire/failure/provider-error-text.ts";

/**
 * Does a 200 that lacks images say that the content was refused? Hosts say so for the whole answer
 * or for each image that they kept back. `items` are no more than were asked for.
 */
export function saysModerated(answer: Fields, items: readonly unknown[]): boolean {
  return [answer, ...items]
    .map(asObject)
    .flatMap((each) => [each, asObject(each?.["moderation"]), asObject(each?.["promptFeedback"])])
    .filter((each) => each !== undefined)
    .some(
      (each) =>
        each["respect_moderation"] === false ||
        FLAGS.some((name) => each[name] === true) ||
        FILLED.some((name) => typeof each[name] === "string" && each[name] !== "") ||
        REASONS.some((name) => isRefusal(each[name])) ||
        speaksOf(wordsOf(each), contentPolicyWording),
    );
}

type Fields = Readonly<Record<string, unknown>>;

const FLAGS = ["moderated", "moderation_blocked", "content_filtered", "flagged", "blocked"];
const FILLED = ["block_reason", "blockReason"];
const REASONS = ["finish_reason", "finishReason", "finish_reasons", "status", "state"];

const WORDS_MAX = 16;
const WORD_CHARS_MAX = 64;

/** One word or several of how a generation ended. */
function isRefusal(value: unknown): boolean {
  const words: readonly unknown[] = Array.isArray(value) ? value : [value];
  return words
    .slice(0, WORDS_MAX)
    .some(
      (each) =>
        typeof each === "string" &&
        each.length <= WORD_CHARS_MAX &&
        contentPolicyWording.codes.includes(each.toLowerCase().replaceAll(/[\s-]+/g, "_")),
    );
}
