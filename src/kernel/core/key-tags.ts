import { KEY_TAGS_MAX } from "./constants.ts";

/** A tag must be one word, both on a command line and in a CSV file. */
const TAG = /^[A-Za-z0-9._:/-]{1,32}$/;

/** Checks the tags of a key. Returns them sorted and without duplicates, or the problem. */
export function readTags(
  tags: readonly string[],
):
  | { readonly ok: true; readonly tags: readonly string[] }
  | { readonly ok: false; readonly problem: string } {
  const wrong = tags.find((tag) => !TAG.test(tag));
  if (wrong !== undefined) {
    const shown = JSON.stringify(wrong.slice(0, 40));
    return {
      ok: false,
      problem: `${shown} is not a tag; use 1 to 32 letters, digits or the characters . _ - : /`,
    };
  }
  const kept = [...new Set(tags)].sort();
  if (kept.length <= KEY_TAGS_MAX) return { ok: true, tags: kept };
  return { ok: false, problem: `a key has at most ${KEY_TAGS_MAX} tags, not ${kept.length}` };
}
