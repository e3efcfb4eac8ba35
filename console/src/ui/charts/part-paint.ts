export interface Paint {
  /** `own`: a part with `isWhole`. `other`: all other groups. Else an index into the palette. */
  readonly colour: "own" | "other" | number;
  /** The pattern; 0 for none. */
  readonly mark: number;
}

/**
 * Number of colors in the palette. Any two of them differ under every kind of color blindness,
 * which `chart-colours.test.ts` checks.
 */
export const COLOURS = 8;
const MARKS = 6;

/**
 * Chooses the paint of each part. A part prefers the color of its family, so that a maker's models
 * mostly have the same color in every chart, whatever their rank. The parts of one chart differ in
 * color until all colors are used, and then in pattern.
 */
export function choosePaints(
  parts: readonly { readonly id: string; readonly isWhole?: boolean }[],
  isHatched: boolean,
): readonly Paint[] {
  const chosen = assignColours(parts.map(({ id }) => id).filter((id) => id !== "other"));
  const taken = new Set<string>();
  return parts.map(({ id, isWhole = false }) => {
    if (isWhole) return { colour: "own", mark: 0 };
    if (id === "other") return { colour: "other", mark: 0 };
    const colour = chosen.get(id) ?? 0;
    let mark = isHatched ? 1 + (Math.floor(hashId(id) / COLOURS) % MARKS) : 0;
    for (let tries = 0; tries < MARKS && taken.has(`${colour} ${mark}`); tries += 1) {
      mark = 1 + (mark % MARKS);
    }
    taken.add(`${colour} ${mark}`);
    return { colour, mark };
  });
}

/** Assigns colors by ID, not by the order of the IDs, so a new ranking keeps the colors. */
function assignColours(ids: readonly string[]): ReadonlyMap<string, number> {
  const colours = new Map<string, number>();
  const taken = new Set<number>();
  const sorted = ids.toSorted((a, b) => hashId(a) - hashId(b));
  const isFirst = (id: string, at: number): boolean =>
    sorted.findIndex((other) => familyColour(other) === familyColour(id)) === at;
  // The first part of each family chooses first, so that no other part takes its color.
  const firsts = sorted.filter(isFirst);
  for (const id of [...firsts, ...sorted.filter((each) => !firsts.includes(each))]) {
    let colour = familyColour(id);
    while (taken.has(colour)) colour = (colour + 1) % COLOURS;
    colours.set(id, colour);
    taken.add(colour);
    if (taken.size === COLOURS) taken.clear();
  }
  return colours;
}

/** The preferred color of an ID, by the text before its `/`, which is the maker of a model. */
export function familyColour(id: string): number {
  const [family = ""] = id.split("/");
  return FAMILIES.get(family) ?? hashId(family) % COLOURS;
}

/** Fixed colors for makers that often share a chart, because their hashes could collide. */
const FAMILIES: ReadonlyMap<string, number> = new Map(
  ["google", "openai", "anthropic", "deepseek", "mistralai", "moonshotai", "qwen", "z-ai"].map(
    (family, colour) => [family, colour],
  ),
);

export function toColour({ colour }: Paint): string {
  return `var(--part-${colour})`;
}

/** Hashes a text by FNV-1a. IDs that differ by one letter get hashes that are far apart. */
function hashId(id: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(id)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}
