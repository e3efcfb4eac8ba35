import { isObject, objectsOf, type JsonObject } from "./json.ts";

/** Plausible arguments for a tool: every property of its schema gets a value of its type. */
export function argumentsFor(schema: JsonObject): JsonObject {
  const properties = schema["properties"];
  if (!isObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, valueFor(property, name)]),
  );
}

function valueFor(schema: unknown, name: string): unknown {
  if (!isObject(schema)) return name;
  const { enum: choices, default: preset, anyOf } = schema;
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(choices) && choices.length > 0) return choices[0];
  if (preset !== undefined) return preset;
  const [firstOption] = objectsOf(anyOf);
  return firstOption === undefined ? valueOfType(schema, name) : valueFor(firstOption, name);
}

function valueOfType(schema: JsonObject, name: string): unknown {
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  switch (type) {
    case "integer":
      return typeof schema["minimum"] === "number" ? Math.ceil(schema["minimum"]) : 7;
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 7.5;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return [valueFor(schema["items"], name)];
    case "object":
      return argumentsFor(schema);
    default:
      return `sample ${name}`;
  }
}
