/** How a part is drawn: one of the colours, and a pattern where two parts would have the same colour. */
export interface Paint {
  /** `own`: of a chart that has one part; `other`: what is left; else the place in the palette. */
  readonly colour: "own" | "other" | number;
  /** 0: plain. */
  readonly mark: number;
}

/** Chosen so that every two are distinct with any kind of colour blindness; see its test. */
export const COLOURS = 8;
export const MARKS = 6;

/**
 * The paint of each part. A colour comes from the part's id alone, so that a model has the same one
 * in every chart, whatever it ranks; parts of one chart that share a colour differ by pattern.
 */
export function paintsOf(
  parts: readonly { readonly id: string; readonly isWhole?: boolean }[],
  isHatched: boolean,
): readonly Paint[] {
  const taken = new Set<string>();
  return parts.map(({ id, isWhole = false }) => {
    if (isWhole) return { colour: "own", mark: 0 };
    if (id === "other") return { colour: "other", mark: 0 };
    const hash = hashOf(id);
    const colour = hash % COLOURS;
    let mark = isHatched ? 1 + (Math.floor(hash / COLOURS) % MARKS) : 0;
    for (let tries = 0; tries < MARKS && taken.has(`${colour} ${mark}`); tries += 1) {
      mark = 1 + (mark % MARKS);
    }
    taken.add(`${colour} ${mark}`);
    return { colour, mark };
  });
}

export function colourOf({ colour }: Paint): string {
  return `var(--part-${colour})`;
}

/** FNV-1a: ids that differ by one letter are far from each other. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(id)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}
