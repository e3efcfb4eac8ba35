import { asText } from "../../kernel/index.ts";
/** The value of a field: a text, or for a name such as `a[b]` the fields in the brackets. */
export type FormValue = string | FormFields;
export interface FormFields {
  readonly [name: string]: FormValue | undefined;
}

const DEPTH_MAX = 8;

/**
 * Reads a form with nested names, as Stripe's clients write them: `a[b][0][c]=d` becomes `{a: {b:
 * {0: {c: "d"}}}}`.
 */
export function readForm(text: string): FormFields {
  const form = newFields();
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/\]?\[|\]/).filter((part) => part !== "");
    if (path.length > 0 && path.length <= DEPTH_MAX) put(form, path, value);
  }
  return form;
}

type Fields = Record<string, FormValue | undefined>;

/** The object has no prototype, because the names come from outside and may be `__proto__`. */
function newFields(): Fields {
  return Object.create(null) as Fields;
}

function put(form: Fields, path: readonly string[], value: string): void {
  let at = form;
  for (const part of path.slice(0, -1)) {
    const known = at[part];
    const inner: Fields = typeof known === "object" ? known : newFields();
    at[part] = inner;
    at = inner;
  }
  at[path.at(-1) ?? ""] = value;
}

export function textAt(form: FormFields, ...path: readonly string[]): string | undefined {
  let at: FormValue | undefined = form;
  for (const part of path) at = typeof at === "object" ? at[part] : undefined;
  return asText(at);
}

export function textsAt(form: FormFields, ...path: readonly string[]): Record<string, string> {
  let at: FormValue | undefined = form;
  for (const part of path) at = typeof at === "object" ? at[part] : undefined;
  if (typeof at !== "object") return {};
  const texts = Object.entries(at).filter((entry): entry is [string, string] => {
    return typeof entry[1] === "string";
  });
  return Object.fromEntries(texts);
}
