/** `localStorage` is shared by all tabs of the browser; `sessionStorage` belongs to one tab. */
type Area = "localStorage" | "sessionStorage";

/** Reads a stored JSON value. Undefined if there is none, or if the browser stores nothing. */
export function recall(area: Area, name: string): unknown {
  try {
    return JSON.parse(globalThis[area].getItem(name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

export function recallTexts(area: Area, name: string): readonly string[] {
  const kept = recall(area, name);
  return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
}

export function recallFields(area: Area, name: string): Readonly<Record<string, unknown>> {
  const kept = recall(area, name);
  return typeof kept === "object" && kept !== null ? (kept as Record<string, unknown>) : {};
}

/** Stores a JSON value; undefined removes it. Does nothing if the browser stores nothing. */
export function remember(area: Area, name: string, value: unknown): void {
  try {
    if (value === undefined) globalThis[area].removeItem(name);
    else globalThis[area].setItem(name, JSON.stringify(value));
  } catch {
    // The browser stores nothing, so the value lasts only as long as the page.
  }
}
