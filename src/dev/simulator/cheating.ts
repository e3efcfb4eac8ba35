/** The cheats of an answer, in the order in which they were named. */
export interface Cheating {
  readonly cheat?: readonly string[];
}

export function isCheating({ cheat }: Cheating, name: string): boolean {
  return cheat !== undefined && cheat.includes(name);
}

/** The effects of an answer's cheats, of one kind of host. */
export function listEffects<E>(
  { cheat = [] }: Cheating,
  table: Readonly<Record<string, readonly [string, string, E, string?]>>,
): readonly E[] {
  return cheat.flatMap((name) => table[name]?.[2] ?? []);
}
