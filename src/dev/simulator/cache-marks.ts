import { isObject, pickObjects, type JsonObject } from "./json.ts";
import type { Complaint } from "./shape.ts";

const TIMES: ReadonlySet<unknown> = new Set([undefined, null, "5m", "1h"]);

/**
 * The complaint of a provider about the cache marks of a body: odd times, and an hour behind five
 * minutes.
 */
export function cacheMarksComplaint(body: JsonObject): Complaint {
  let hasShort = false;
  for (const mark of [
    ...collectMarks(listPromptParts(body)),
    ...pickObjects([body["cache_control"]]),
  ]) {
    const { ttl } = mark;
    if (!TIMES.has(ttl)) return "cache_control.ttl: Input should be '5m' or '1h'";
    if (ttl === "1h" && hasShort) {
      return "cache_control.ttl: a ttl='1h' block must not come after a ttl='5m' block";
    }
    hasShort ||= ttl !== "1h";
  }
  return undefined;
}

/** In the order in which a provider caches it. */
function listPromptParts(body: JsonObject): readonly unknown[] {
  return [body["tools"], body["system"], body["messages"]];
}

function collectMarks(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(collectMarks);
  if (!isObject(value)) return [];
  const { cache_control: mark, ...rest } = value;
  return [...pickObjects([mark]), ...Object.values(rest).flatMap(collectMarks)];
}
