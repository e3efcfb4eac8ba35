/** The fields of a form. The keys are paths as `keyOf` joins them: `a[b]` has the path `a`, `b`. */
export type FormFields = ReadonlyMap<string, string>;

const DEPTH_MAX = 8;

/** Reads a form with nested names, as Stripe's clients write them, such as `a[b][0][c]=d`. */
export function readForm(text: string): FormFields {
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/\]?\[|\]/).filter((part) => part !== "");
    if (path.length > 0 && path.length <= DEPTH_MAX) form.set(keyOf(path), value);
  }
  return form;
}

function keyOf(path: readonly string[]): string {
  return path.join("[");
}

export function textAt(form: FormFields, ...path: readonly string[]): string | undefined {
  return form.get(keyOf(path));
}

/** The texts of the fields directly under a path, by field name. */
export function textsAt(form: FormFields, ...path: readonly string[]): Record<string, string> {
  const start = keyOf([...path, ""]);
  const texts = [...form].flatMap(([key, value]) => {
    const name = key.startsWith(start) ? key.slice(start.length) : "";
    return name === "" || name.includes("[") ? [] : [[name, value] as const];
  });
  return Object.fromEntries(texts);
}
