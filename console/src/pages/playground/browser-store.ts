const NAME = "tm-playground";
/** 2: with presets; 3: with images and searches. */
const VERSION = 3;
const SHELVES = ["conversations", "videos", "presets", "images", "searches"] as const;
type Shelf = (typeof SHELVES)[number];

/** Everything that is kept, by organization: one browser may serve several. */
export interface Kept {
  readonly id: string;
  readonly orgId: string;
  readonly updatedAtMs: number;
}

/**
 * A shelf of this browser's own database. Nothing in it is ever sent anywhere; a browser that has no
 * such database, as in some private windows, keeps nothing.
 */
export class BrowserShelf<T extends Kept> {
  readonly #shelf: Shelf;
  /** The most entries of one organization; beyond it the oldest are removed. */
  readonly countMax: number;

  constructor(shelf: Shelf, countMax: number) {
    this.#shelf = shelf;
    this.countMax = countMax;
  }

  /** Newest first. */
  async list(orgId: string): Promise<readonly T[]> {
    const all = await this.#run<T[]>("readonly", (store) => store.index("org").getAll(orgId));
    return (all ?? []).toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);
  }

  /** Keeps it and forgets the oldest beyond the bound; false: it could not be kept. */
  async keep(record: T): Promise<boolean> {
    const kept = await this.#run("readwrite", (store) => store.put(record));
    if (kept === undefined) return false;
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
      const request = indexedDB.open(NAME, VERSION);
      request.addEventListener("upgradeneeded", () => {
        for (const shelf of SHELVES) {
          if (request.result.objectStoreNames.contains(shelf)) continue;
          const store = request.result.createObjectStore(shelf, { keyPath: "id" });
          store.createIndex("org", "orgId");
        }
      });
      request.addEventListener("success", () => {
        // A page of a newer program that opens the database is not kept waiting by this one.
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
