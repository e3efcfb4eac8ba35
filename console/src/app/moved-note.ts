const NAME = "tm-moved";
/** After this time the note of a page that was closed is dropped. */
const KEPT_MS = 60_000;

/** The organization that this tab showed before, and which it had not chosen to leave. */
export interface Moved {
  readonly from: string;
  /** False: the account was removed from it. True: another tab has gone to another one. */
  readonly isMember: boolean;
}

let isExpected = false;

/**
 * Explains that the page now shows another organization. The note is kept in this tab's storage
 * across the reload, because a reload clears everything of the former organization from memory.
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

  /** Once; undefined if there is none. */
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
