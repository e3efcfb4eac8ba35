const NAME = "tm-dismissed";
/** Beyond this number the oldest are dropped, as their subjects are long over. */
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

/** Adds a dismissed id and returns all of them. */
export function dismiss(id: string): readonly string[] {
  const ids = [...readDismissed().filter((each) => each !== id), id].slice(-IDS_MAX);
  try {
    globalThis.localStorage.setItem(NAME, JSON.stringify(ids));
  } catch {
    // A browser that keeps nothing shows it again on the next visit.
  }
  return ids;
}
