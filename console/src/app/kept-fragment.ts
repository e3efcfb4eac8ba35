const NAME = "tm-fragment";
const KEPT_MS = 15 * 60_000;
/** A shared preset is all that a fragment is kept of, and none is longer. */
const KEPT = /^#preset=[\w-]{1,16000}$/;

/**
 * The preset of a shared link, kept in this tab while its reader signs in: no server and no identity
 * provider sees it. Forgotten when it was opened, and after a while.
 */
export const KeptFragment = {
  /** What the address has, where it is worth keeping. */
  keep(nowMs: number, fragment = globalThis.location.hash): void {
    if (!KEPT.test(fragment)) return;
    try {
      sessionStorage.setItem(NAME, JSON.stringify({ fragment, untilMs: nowMs + KEPT_MS }));
    } catch {
      // A browser that keeps nothing opens the playground without the preset.
    }
  },

  /** Empty: nothing is kept. */
  read(nowMs: number): string {
    try {
      const kept: unknown = JSON.parse(sessionStorage.getItem(NAME) ?? "null");
      if (typeof kept !== "object" || kept === null) return "";
      const { fragment, untilMs } = kept as {
        readonly fragment?: unknown;
        readonly untilMs?: unknown;
      };
      const isFresh = typeof untilMs === "number" && nowMs <= untilMs && untilMs - nowMs <= KEPT_MS;
      return isFresh && typeof fragment === "string" && KEPT.test(fragment) ? fragment : "";
    } catch {
      return "";
    }
  },

  forget(): void {
    try {
      sessionStorage.removeItem(NAME);
    } catch {
      // Nothing was kept either.
    }
  },
};
