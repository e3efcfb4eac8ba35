/** `localStorage` belongs to the browser, `sessionStorage` to this tab. */
type Area = "localStorage" | "sessionStorage";

/** The JSON value stored under a name; undefined without one, or if the browser stores nothing. */
export function recall(area: Area, name: string): unknown {
  try {
    return JSON.parse(globalThis[area].getItem(name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** The texts of a list stored under a name; other values are skipped. */
export function recallTexts(area: Area, name: string): readonly string[] {
  const kept = recall(area, name);
  return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
}

/** The fields of an object stored under a name; none without one. */
export function recallFields(area: Area, name: string): Readonly<Record<string, unknown>> {
  const kept = recall(area, name);
  return typeof kept === "object" && kept !== null ? (kept as Record<string, unknown>) : {};
}

/** Stores a JSON value; undefined removes it. If the browser stores nothing, nothing happens. */
export function remember(area: Area, name: string, value: unknown): void {
  try {
    if (value === undefined) globalThis[area].removeItem(name);
    else globalThis[area].setItem(name, JSON.stringify(value));
  } catch {
    // Without storage, the value lasts only as long as the page.
  }
}
