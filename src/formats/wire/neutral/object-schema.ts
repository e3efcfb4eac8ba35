import { ABSENT, type JsonDocument, type JsonNode, type JsonText } from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";

const EMPTY = '{"type":"object","properties":{}}' as JsonText;

/**
 * The schema of a tool's arguments as sent, made an object schema with `properties` where it is
 * not (null is not): wire_b wants the type, and some wire_a servers want the properties.
 */
export function objectSchema(doc: JsonDocument, schema: JsonNode): JsonText {
  if (schema === ABSENT || doc.keys(schema).length === 0) return EMPTY;
  let raw: string = doc.raw(schema);
  let missing = "";
  const nulls: { readonly at: number; readonly value: string }[] = [];
  for (const [name, { wordId, value }] of Object.entries(needed)) {
    const node = doc.member(schema, wordId);
    if (node === ABSENT) missing += `"${name}":${value},`;
    // A key that is there already is not written a second time.
    else if (doc.isNull(node)) nulls.push({ at: doc.start(node) - doc.start(schema), value });
  }
  for (const { at, value } of nulls.toSorted((a, b) => b.at - a.at)) {
    raw = raw.slice(0, at) + value + raw.slice(at + "null".length);
  }
  return (missing === "" ? raw : `{${missing}${raw.slice(1)}`) as JsonText;
}

const needed = {
  type: { wordId: word.type, value: '"object"' },
  properties: { wordId: word.properties, value: "{}" },
} as const;
