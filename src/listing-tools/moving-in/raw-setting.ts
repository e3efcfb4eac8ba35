import { type RawJson, RawNumber, type RawObject } from "../../kernel/index.ts";
import type { Setting } from "./setting-tree.ts";

/** A JSON document that was read within bounds, as settings. */
export function rawSetting(value: RawJson): Setting {
  if (value === null) return { kind: "nothing" };
  if (typeof value === "string") return { kind: "text", text: value };
  if (typeof value === "boolean") return { kind: "boolean", value };
  if (value instanceof RawNumber) return { kind: "number", text: value.raw };
  if (Array.isArray(value)) {
    return { kind: "list", items: (value as readonly RawJson[]).map(rawSetting) };
  }
  const entries = [...(value as RawObject)].map(([key, each]) => [key, rawSetting(each)] as const);
  return { kind: "map", entries: new Map(entries) };
}
