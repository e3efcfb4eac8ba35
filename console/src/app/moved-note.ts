const NAME = "tm-moved";
/** A page that was closed in between says nothing of it any more. */
const KEPT_MS = 60_000;

/** The organization that this tab showed before, and which it had not chosen to leave. */
export interface Moved {
  readonly from: string;
  /** False: the account was removed from it. True: another tab has gone to another one. */
  readonly isMember: boolean;
}

let isExpected = false;

/**
 * Why the page shows another organization than before: kept in this tab over the load that the change
 * ends with, since nothing of the former organization stays in memory.
 */
export const MovedNote = {
  /**
   * This page itself moves to another organization here and then loads anew, so no note is needed.
   * Where it fails, the page stays as it was.
   */
  async during<T>(change: () => Promise<T>): Promise<T> {
    isExpected = true;
    try {
      return await change();
    } catch (fault) {
      isExpected = false;
      throw fault;
    }
  },

  get isExpected(): boolean {
    return isExpected;
  },

  keep(moved: Moved, nowMs: number): void {
    try {
      sessionStorage.setItem(NAME, JSON.stringify({ ...moved, atMs: nowMs }));
    } catch {
      // A browser that keeps nothing shows the other organization without a word.
    }
  },

  /** Once; undefined: there is none. */
  take(nowMs: number): Moved | undefined {
    try {
      const kept: unknown = JSON.parse(sessionStorage.getItem(NAME) ?? "null");
      sessionStorage.removeItem(NAME);
      if (typeof kept !== "object" || kept === null) return undefined;
      const { from, isMember, atMs } = kept as Readonly<Record<string, unknown>>;
      const isFresh = typeof atMs === "number" && Math.abs(nowMs - atMs) <= KEPT_MS;
      if (!isFresh || typeof from !== "string" || typeof isMember !== "boolean") return undefined;
      return { from, isMember };
    } catch {
      return undefined;
    }
  },
};
