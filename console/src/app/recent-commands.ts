const NAME = "tm-recent";
const IDS_MAX = 5;

/** Ids of what was last chosen in the palette in this tab, newest first. */
export function readRecent(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(globalThis.sessionStorage.getItem(NAME) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

/** Notes that one was chosen now. */
export function noteRecent(id: string): void {
  const ids = [id, ...readRecent().filter((each) => each !== id)].slice(0, IDS_MAX);
  try {
    globalThis.sessionStorage.setItem(NAME, JSON.stringify(ids));
  } catch {
    // A browser that keeps nothing has none that are recent.
  }
}
