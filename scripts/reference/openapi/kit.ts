export type Schema = Readonly<Record<string, unknown>>;

export const text: Schema = { type: "string" };
export const flag: Schema = { type: "boolean" };
export const whole: Schema = { type: "integer" };
export const count: Schema = { type: "integer", minimum: 0 };
export const usd: Schema = { type: "number", description: "US dollars, exact to the micro-dollar" };
export const instant: Schema = { type: "string", format: "date-time" };
export const anything: Schema = {};

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function said(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

export function oneOf(...values: readonly string[]): Schema {
  return { type: "string", enum: values };
}

export function orNull(schema: Schema): Schema {
  const { type } = schema;
  return typeof type === "string" && schema["enum"] === undefined
    ? { ...schema, type: [type, "null"] }
    : { anyOf: [schema, { type: "null" }] };
}

export function list(items: Schema, more: Schema = {}): Schema {
  return { type: "array", items, ...more };
}

/** A field whose name ends in `?` is optional. Unknown fields are valid, for later versions. */
export function object(fields: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  const names = Object.keys(fields);
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name.replace("?", ""), schema]),
  );
  const required = names.filter((name) => !name.endsWith("?"));
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }), ...more };
}
