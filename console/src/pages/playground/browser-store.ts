import { useCallback, useEffect, useState } from "react";

/** Version of the database. Version 2 added presets; version 3 added images and searches. */
const VERSION = 3;
const SHELVES = ["conversations", "videos", "presets", "images", "searches"] as const;

/** A random ID. On plain http, browsers have no `crypto.randomUUID`. */
export function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}

/** A stored record. It names its organization, because one browser can be used for several. */
export interface Kept {
  readonly id: string;
  readonly orgId: string;
  readonly updatedAtMs: number;
}

/**
 * One object store of this browser's IndexedDB. Its records are stored only there. Without
 * IndexedDB, as in some private windows, nothing is stored and `list` returns nothing.
 */
export class BrowserShelf<T extends Kept> {
  readonly #shelf: (typeof SHELVES)[number];
  /** Maximum number of stored records per organization. The oldest are removed first. */
  readonly countMax: number;

  constructor(shelf: (typeof SHELVES)[number], countMax: number) {
    this.#shelf = shelf;
    this.countMax = countMax;
  }

  async list(orgId: string): Promise<readonly T[]> {
    const all = await this.#run<T[]>("readonly", (store) => store.index("org").getAll(orgId));
    return (all ?? []).toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);
  }

  /**
   * Stores a record, then removes the oldest beyond `countMax`. Returns false if the record could
   * not be stored. `choose` gets the stored record with the same ID, if any, and returns the record
   * to store; no other tab can write in between.
   */
  async keep(record: T, choose: (stored: T | undefined) => T = () => record): Promise<boolean> {
    let isKept = false;
    await this.#run("readwrite", (store) => {
      const found: IDBRequest<T | undefined> = store.get(record.id);
      found.addEventListener("success", () => store.put(choose(found.result)));
      store.transaction.addEventListener("complete", () => {
        isKept = true;
      });
      return found;
    });
    if (!isKept) return false;
    const beyond = (await this.list(record.orgId)).slice(this.countMax);
    for (const { id } of beyond) await this.forget(id);
    return true;
  }

  async forget(id: string): Promise<void> {
    await this.#run("readwrite", (store) => store.delete(id));
  }

  async #run<R>(
    mode: IDBTransactionMode,
    ask: (store: IDBObjectStore) => IDBRequest,
  ): Promise<R | undefined> {
    const database = await openDatabase();
    if (database === undefined) return undefined;
    return await new Promise((resolve) => {
      try {
        const transaction = database.transaction(this.#shelf, mode);
        const request = ask(transaction.objectStore(this.#shelf));
        transaction.addEventListener("complete", () => resolve(request.result as R));
        transaction.addEventListener("abort", () => resolve(undefined));
      } catch {
        resolve(undefined);
      }
    });
  }
}

let database: Promise<IDBDatabase | undefined> | undefined;

function openDatabase(): Promise<IDBDatabase | undefined> {
  database ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open("tm-playground", VERSION);
      request.addEventListener("upgradeneeded", () => {
        for (const shelf of SHELVES) {
          if (request.result.objectStoreNames.contains(shelf)) continue;
          const store = request.result.createObjectStore(shelf, { keyPath: "id" });
          store.createIndex("org", "orgId");
        }
      });
      request.addEventListener("success", () => {
        // An open connection would block a newer version of the console that upgrades the database.
        request.result.addEventListener("versionchange", () => request.result.close());
        resolve(request.result);
      });
      request.addEventListener("error", () => resolve(undefined));
      request.addEventListener("blocked", () => resolve(undefined));
    } catch {
      resolve(undefined);
    }
  });
  return database;
}

/**
 * Reads and changes the records of a shelf. They are newest first, and undefined until they have
 * been read. `keep` adds a record or replaces the one with its ID. `isSaved` is false if this
 * browser could not store the last record.
 */
export function useShelf<T extends Kept>(shelf: BrowserShelf<T>, orgId: string) {
  const [records, setRecords] = useState<readonly T[]>();
  const [isSaved, setSaved] = useState(true);
  useEffect(() => {
    void shelf.list(orgId).then((kept) =>
      setRecords((added = []) => {
        const ids = new Set(added.map(({ id }) => id));
        return [...added, ...kept.filter(({ id }) => !ids.has(id))];
      }),
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
