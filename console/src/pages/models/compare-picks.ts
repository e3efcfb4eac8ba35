export const COMPARED_MAX = 4;

/** Reads the model IDs from the page's URL: the first four, without duplicates. */
export function readPicks(text: string | undefined): readonly string[] {
  const ids = (text ?? "").split(",").map((id) => id.trim());
  return [...new Set(ids)].filter((id) => id !== "").slice(0, COMPARED_MAX);
}

export function writePicks(ids: readonly string[]): string | undefined {
  return ids.length === 0 ? undefined : ids.join(",");
}

/** A fifth model is not added. */
export function withPick(ids: readonly string[], id: string, isPicked: boolean): readonly string[] {
  const others = ids.filter((each) => each !== id);
  if (!isPicked) return others;
  return others.length === COMPARED_MAX ? ids : [...others, id];
}
