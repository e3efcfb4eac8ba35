import { readTags } from "../../kernel/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";

/** Undefined changes nothing; an empty list removes all. */
export function readKeyTags(
  tags: readonly string[] | null | undefined,
): readonly string[] | undefined | ConsoleRefusal {
  if (tags === undefined || tags === null) return undefined;
  const read = readTags(tags);
  return read.ok ? read.tags : invalidField("tags", read.problem);
}
