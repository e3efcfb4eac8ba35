const NAME = "tm-dismissed";
/** The oldest are forgotten first: what they were about is long over. */
const IDS_MAX = 100;

/** Ids of notices that were dismissed in this browser. */
export function readDismissed(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(globalThis.localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

/** Dismisses one more, and returns all of them. */
export function dismiss(id: string): readonly string[] {
  const ids = [...readDismissed().filter((each) => each !== id), id].slice(-IDS_MAX);
  try {
    globalThis.localStorage.setItem(NAME, JSON.stringify(ids));
  } catch {
    // A browser that keeps nothing shows it again on the next visit.
  }
  return ids;
}
