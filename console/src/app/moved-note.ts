import { recallFields, remember } from "../ui/browser-memory.ts";

const NAME = "tm-moved";
/** A note older than this is ignored: the reload that should have shown it never finished. */
const KEPT_MS = 60_000;

/**
 * A switch from one organization to another. `from` is the name of the organization that this tab
 * showed before.
 */
export interface Moved {
  readonly from: string;
  /** False: the account was removed from the former organization. True: another tab switched. */
  readonly isMember: boolean;
}

let isExpected = false;

/**
 * Stores a note that explains why the page now shows another organization. The note is in this
 * tab's storage, because the page is then reloaded to clear everything of the former organization
 * from memory.
 */
export const MovedNote = {
  /** Runs an organization switch that this page itself started. Such a switch needs no note. */
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
    remember("sessionStorage", NAME, { ...moved, atMs: nowMs });
  },

  /** Reads and deletes the note. Undefined if no note of the last minute is stored. */
  take(nowMs: number): Moved | undefined {
    const { from, isMember, atMs } = recallFields("sessionStorage", NAME);
    remember("sessionStorage", NAME, undefined);
    const isFresh = typeof atMs === "number" && Math.abs(nowMs - atMs) <= KEPT_MS;
    if (!isFresh || typeof from !== "string" || typeof isMember !== "boolean") return undefined;
    return { from, isMember };
  },
};
