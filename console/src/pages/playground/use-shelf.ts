import { useCallback, useEffect, useState } from "react";

import type { BrowserShelf, Kept } from "./browser-store.ts";

export interface Shelved<T> {
  /** Records, newest first; undefined until they have been read. */
  readonly records: readonly T[] | undefined;
  /** Adds a record, or replaces the record with the same ID. */
  readonly keep: (record: T) => void;
  readonly forget: (id: string) => void;
  /** False if this browser could not store the last record. */
  readonly isSaved: boolean;
}

export function useShelf<T extends Kept>(shelf: BrowserShelf<T>, orgId: string): Shelved<T> {
  const [records, setRecords] = useState<readonly T[]>();
  const [isSaved, setSaved] = useState(true);
  useEffect(() => {
    void shelf
      .list(orgId)
      .then((kept) =>
        setRecords((added = []) => [
          ...added,
          ...kept.filter((each) => !added.some(({ id }) => id === each.id)),
        ]),
      );
  }, [shelf, orgId]);
  const keep = useCallback(
    (record: T) => {
      void shelf.keep(record).then(setSaved);
      setRecords((before = []) =>
        before.some(({ id }) => id === record.id)
          ? before.map((each) => (each.id === record.id ? record : each))
          : [record, ...before].slice(0, shelf.countMax),
      );
    },
    [shelf],
  );
  const forget = useCallback(
    (id: string) => {
      void shelf.forget(id);
      setRecords((before) => before?.filter((each) => each.id !== id));
    },
    [shelf],
  );
  return { records, keep, forget, isSaved };
}
