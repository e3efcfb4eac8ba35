type Json = Readonly<Record<string, unknown>>;

export interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly about: string;
}

export interface OperationView {
  readonly id: string;
  /** Such as `POST /v1/chat/completions`. */
  readonly name: string;
  readonly tag: string;
  readonly summary: string;
  readonly about: string;
  readonly curl: string;
  readonly parameters: readonly FieldRow[];
  readonly body: readonly FieldRow[];
  readonly answer: readonly FieldRow[];
  readonly headers: readonly FieldRow[];
  readonly refusals: readonly { readonly status: string; readonly classes: string }[];
}

const DEPTH_MAX = 3;

export function readOperations(document: unknown): readonly OperationView[] {
  return Object.entries(child(document, "paths")).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, operation]) =>
      toView(document, `${method.toUpperCase()} ${path}`, operation as Json),
    ),
  );
}

function toView(document: unknown, name: string, operation: Json): OperationView {
  const responses = Object.entries(child(operation, "responses"));
  const served = child(operation, "responses", "200");
  const fields = (schema: Json): readonly FieldRow[] => listFields(document, schema, "", 1);
  return {
    id: asText(operation["operationId"]),
    name,
    curl: curlOf(document, name, operation),
    tag: asText((operation["tags"] as readonly unknown[] | undefined)?.[0]),
    summary: asText(operation["summary"]),
    about: asText(operation["description"]),
    parameters: ((operation["parameters"] ?? []) as readonly Json[]).map((each) => ({
      name: `${asText(each["name"])} (${asText(each["in"])})`,
      type: describeType(document, child(each, "schema")),
      isRequired: each["required"] === true,
      about: asText(each["description"]),
    })),
    body: fields(child(operation, "requestBody", "content", "application/json", "schema")),
    answer: fields(child(served, "content", "application/json", "schema")),
    headers: Object.entries(child(served, "headers")).map(([header, each]) => {
      const found = resolve(document, each as Json);
      const type = asText(child(found, "schema")["type"]);
      return { name: header, type, isRequired: false, about: asText(found["description"]) };
    }),
    refusals: responses
      .filter(([status]) => status !== "200")
      .map(([status, each]) => {
        const about = asText(resolve(document, each as Json)["description"]);
        const classes = [...about.matchAll(/^- `(\w+)`/gm)].map(([, one = ""]) => one);
        return { status, classes: classes.length === 0 ? about : classes.join(", ") };
      }),
  };
}

/** Writes a curl call with the operation's example body, for the first server of the document. */
function curlOf(document: unknown, name: string, operation: Json): string {
  const [method = "", path = ""] = name.split(" ");
  const parameters = (operation["parameters"] ?? []) as readonly Json[];
  const required = parameters.filter((each) => each["required"] === true);
  const at = required.reduce((address, each) => {
    const [field, value] = [asText(each["name"]), asText(each["example"])];
    if (each["in"] === "path") return address.replace(`{${field}}`, value);
    return `${address}${address.includes("?") ? "&" : "?"}${field}=${value}`;
  }, path);
  const [server] = (child(document)["servers"] ?? []) as readonly Json[];
  const example = child(operation, "requestBody", "content", "application/json")["example"];
  const sent = [
    `curl -s "${asText(server?.["url"])}${at}"`,
    '-H "authorization: Bearer $TOKEN_MARKET_KEY"',
    ...(method === "GET" ? [] : ['-H "content-type: application/json"']),
    ...(example === undefined ? [] : [`-d '${JSON.stringify(example)}'`]),
  ];
  return sent.join(" \\\n  ");
}

function listFields(
  document: unknown,
  schema: Json,
  before: string,
  depth: number,
): readonly FieldRow[] {
  const found = resolve(document, schema);
  const required = (found["required"] ?? []) as readonly string[];
  return Object.entries(child(found, "properties")).flatMap(([name, each]) => {
    const field = resolve(document, each as Json);
    const inner = field["type"] === "array" ? child(field, "items") : field;
    const row = {
      name: before + name,
      type: describeType(document, each as Json),
      isRequired: required.includes(name),
      about: asText((each as Json)["description"] ?? field["description"]),
    };
    const more =
      depth < DEPTH_MAX ? listFields(document, inner, `${before}${name}.`, depth + 1) : [];
    return [row, ...more];
  });
}

function describeType(document: unknown, schema: Json): string {
  const found = resolve(document, schema);
  const { enum: values, const: value, type, anyOf, minimum, maximum } = found;
  if (Array.isArray(values)) return values.map((each) => JSON.stringify(each)).join(" or ");
  if (value !== undefined) return JSON.stringify(value);
  if (Array.isArray(anyOf)) {
    return [...new Set(anyOf.map((each) => describeType(document, each as Json)))].join(" or ");
  }
  const names = Array.isArray(type) ? type.join(" or ") : asText(type ?? "any");
  const isBounded = typeof minimum === "number" && typeof maximum === "number";
  return isBounded ? `${names}, ${minimum} to ${maximum}` : names;
}

function resolve(document: unknown, schema: Json): Json {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return child(document, ...reference.split("/").slice(1));
}

/** Returns the object at the path, or an empty object if there is none. */
function child(value: unknown, ...path: readonly string[]): Json {
  let found = value;
  for (const step of path) {
    found = typeof found === "object" && found !== null ? (found as Json)[step] : undefined;
  }
  return typeof found === "object" && found !== null ? (found as Json) : {};
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
