import { isObject, objectsOf, type JsonObject } from "./json.ts";
import type { Complaint } from "./shape.ts";

const TIMES: ReadonlySet<unknown> = new Set([undefined, null, "5m", "1h"]);

/**
 * The complaint of a provider about the cache marks of a body: odd times, and an hour behind five
 * minutes.
 */
export function cacheMarksComplaint(body: JsonObject): Complaint {
  let hasShort = false;
  for (const mark of [...marksOf(promptOf(body)), ...objectsOf([body["cache_control"]])]) {
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
function promptOf(body: JsonObject): readonly unknown[] {
  return [body["tools"], body["system"], body["messages"]];
}

function marksOf(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(marksOf);
  if (!isObject(value)) return [];
  const { cache_control: mark, ...rest } = value;
  return [...objectsOf([mark]), ...Object.values(rest).flatMap(marksOf)];
}
