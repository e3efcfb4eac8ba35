import { asNumber } from "../../kernel/index.ts";
import { isObject, pickObjects, type JsonObject } from "./json.ts";

/** Plausible arguments of a tool. An enum gets the value that `text` names, else the first. */
export function argumentsFor(schema: JsonObject, text = ""): JsonObject {
  const properties = schema["properties"];
  if (!isObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      valueFor(property, { name, text }),
    ]),
  );
}

interface Wanted {
  readonly name: string;
  readonly text: string;
}

function valueFor(schema: unknown, wanted: Wanted): unknown {
  if (!isObject(schema)) return wanted.name;
  const { enum: choices, default: preset, anyOf } = schema;
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(choices) && choices.length > 0) {
    const words: readonly unknown[] = choices;
    return words.find((word) => wanted.text.includes(String(word))) ?? words[0];
  }
  if (preset !== undefined) return preset;
  const [firstOption] = pickObjects(anyOf);
  return firstOption === undefined ? valueOfType(schema, wanted) : valueFor(firstOption, wanted);
}

function valueOfType(schema: JsonObject, wanted: Wanted): unknown {
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  switch (type) {
    case "integer":
      return Math.ceil(asNumber(schema["minimum"]) ?? 7);
    case "number":
      return asNumber(schema["minimum"]) ?? 7.5;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return [valueFor(schema["items"], wanted)];
    case "object":
      return argumentsFor(schema, wanted.text);
    default:
      return `sample ${wanted.name}`;
  }
}
