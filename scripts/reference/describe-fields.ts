type Json = Readonly<Record<string, unknown>>;

export interface DescribedDocument {
  readonly document: object;
  readonly unusedWords: readonly string[];
}

/**
 * Copies an OpenAPI document and adds missing descriptions of fields and parameters from `words`:
 * the entry `parent.name`, or else the entry `name`. A field's parent is a field or a named schema;
 * a parameter's is `parameter`. If a parameter's schema has a description, the parameter gets that.
 */
export function describeFields(
  document: object,
  words: Readonly<Record<string, string>>,
): DescribedDocument {
  const used = new Set<string>();

  function walk(value: unknown, parent: string): unknown {
    if (Array.isArray(value)) return value.map((each) => walkEntry(each, parent));
    if (value === null || typeof value !== "object") return value;
    const entries = Object.entries(value).map(([name, each]) => [
      name,
      name === "properties" ? walkFields(each as Json, parent) : walk(each, nameOf(name, parent)),
    ]);
    return Object.fromEntries(entries) as object;
  }

  function walkEntry(value: unknown, parent: string): unknown {
    const inner = walk(value, parent);
    const { in: place, name, description } = Object(inner) as Json;
    const isSilent = typeof place === "string" && typeof name === "string" && !description;
    const own = isSilent ? (Object(inner) as { schema?: Json }).schema?.["description"] : undefined;
    return isSilent ? withWords(inner as Json, own ?? findWords("parameter", name)) : inner;
  }

  function walkFields(fields: Json, parent: string): Json {
    return Object.fromEntries(
      Object.entries(fields).map(([name, schema]) => {
        const inner = walk(schema, name) as Json;
        const own = inner["description"];
        return [name, own === undefined ? withWords(inner, findWords(parent, name)) : inner];
      }),
    );
  }

  function findWords(parent: string, name: string): string | undefined {
    const found = [`${parent}.${name}`, name].find((each) => Object.hasOwn(words, each));
    if (found !== undefined) used.add(found);
    return found === undefined ? undefined : words[found];
  }

  const described = walk(document, "") as object;
  return { document: described, unusedWords: Object.keys(words).filter((each) => !used.has(each)) };
}

function withWords(value: Json, description: unknown): Json {
  return description === undefined ? value : { ...value, description };
}

/** Named schemas begin with a capital letter; JSON Schema keywords do not and keep `parent`. */
function nameOf(name: string, parent: string): string {
  return /^[A-Z][a-z]/.test(name) ? name : parent;
}
