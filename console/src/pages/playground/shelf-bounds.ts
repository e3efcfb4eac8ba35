/** How much of one kind a browser keeps for an organization; the newest is kept, whatever its size. */
export interface ShelfBounds<T> {
  readonly count: number;
  readonly chars?: { readonly max: number; readonly of: (record: T) => number };
}

/** What has to go of these, which stand newest first. */
export function beyondBounds<T>(records: readonly T[], bounds: ShelfBounds<T>): readonly T[] {
  const { count, chars } = bounds;
  let sum = 0;
  return records.filter((record, at) => {
    sum += chars?.of(record) ?? 0;
    return at >= count || (at > 0 && chars !== undefined && sum > chars.max);
  });
}
