import { recallFields, remember } from "../ui/browser-memory.ts";

const NAME = "tm-moved";
/** An older note is ignored, because the reload that should have shown it never finished. */
const KEPT_MS = 60_000;

/** `from` is the name of the organization that this tab showed before. */
export interface Moved {
  readonly from: string;
  /**
   * False: the account was removed from that organization. True: another tab switched away from it.
   */
  readonly isMember: boolean;
}

let isExpected = false;

/**
 * Explains that the page now shows another organization. The note is kept in this tab's storage
 * across the reload, because a reload clears everything of the former organization from memory.
 */
export const MovedNote = {
  /** Runs an organization switch that this page started itself, so that no note explains it. */
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

  /** Reads and deletes the note; undefined if there is none from the last minute. */
  take(nowMs: number): Moved | undefined {
    const { from, isMember, atMs } = recallFields("sessionStorage", NAME);
    remember("sessionStorage", NAME, undefined);
    const isFresh = typeof atMs === "number" && Math.abs(nowMs - atMs) <= KEPT_MS;
    if (!isFresh || typeof from !== "string" || typeof isMember !== "boolean") return undefined;
    return { from, isMember };
  },
};
