import { useCallback, useEffect, useState } from "react";

import type { BrowserShelf, Kept } from "./browser-store.ts";

export interface Shelved<T> {
  /** Newest first; undefined: not read yet. */
  readonly records: readonly T[] | undefined;
  /** Adds a record, or puts it in the place of the one with its id. */
  readonly keep: (record: T) => void;
  readonly forget: (id: string) => void;
  /** False: this browser could not keep the last record. */
  readonly isSaved: boolean;
}

/**
 * The entries that a shelf of this browser has for an organization, and those that are added to it
 * meanwhile.
 */
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
