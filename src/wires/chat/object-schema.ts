import { absent, type JsonDocument, type JsonNode } from "../json/json-document.ts";
import type { JsonText } from "../json/json-text.ts";
import { word } from "./chat-words.ts";

const empty = '{"type":"object","properties":{}}' as JsonText;

/**
 * The schema of a tool's arguments as sent, made an object schema with `properties` where it is
 * not: wire_b wants the type, and some wire_a servers want the properties.
 */
export function objectSchema(doc: JsonDocument, schema: JsonNode): JsonText {
  if (schema === absent || doc.keys(schema).length === 0) return empty;
  let missing = "";
  if (doc.present(schema, word.type) === absent) missing += '"type":"object",';
  if (doc.present(schema, word.properties) === absent) missing += '"properties":{},';
  const raw = doc.raw(schema);
  return missing === "" ? raw : (`{${missing}${raw.slice(1)}` as JsonText);
}
