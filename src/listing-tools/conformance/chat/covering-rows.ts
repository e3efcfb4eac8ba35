export type Dimensions = Readonly<Record<string, readonly [unknown, ...unknown[]]>>;

export type RowOf<D extends Dimensions> = { readonly [Name in keyof D]: D[Name][number] };

/** Chooses few rows in which every pair of values of two dimensions occurs at least once. */
export function coveringRows<D extends Dimensions>(dimensions: D): readonly RowOf<D>[] {
  const names = Object.keys(dimensions);
  let all: Record<string, unknown>[] = [{}];
  for (const name of names) {
    all = all.flatMap((row) =>
      (dimensions[name] ?? []).map((value) => ({ ...row, [name]: value })),
    );
  }
  const open = new Set(all.flatMap(listPairs));
  const rows: Record<string, unknown>[] = [];
  while (open.size > 0) {
    let best: Record<string, unknown> | undefined;
    let most = 0;
    for (const row of all) {
      const covered = listPairs(row).filter((pair) => open.has(pair)).length;
      if (covered > most) [best, most] = [row, covered];
    }
    if (best === undefined) break;
    for (const pair of listPairs(best)) open.delete(pair);
    rows.push(best);
  }
  return rows as unknown as readonly RowOf<D>[];
}

function listPairs(row: Readonly<Record<string, unknown>>): readonly string[] {
  const parts = Object.entries(row).map(([name, value]) => `${name}=${String(value)}`);
  return parts.flatMap((part, at) => parts.slice(at + 1).map((other) => `${part} ${other}`));
}
