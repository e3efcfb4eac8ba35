/** A key that this tab has and that nothing can show again. */
export interface KeptKey {
  readonly secret: string;
  readonly orgId: string;
  readonly isSaved: boolean;
  /** Until it is saved, the server can show it again to this browser. */
  readonly isTrial: boolean;
}

const NAME = "tm-key-at-checkout";
/** Longer than a payment takes. */
const TRIP_MS = 30 * 60_000;

/**
 * In the memory of this tab, so that the examples have the key for the whole visit: no cache, no address.
 * A reload forgets it, and the pages of another organization ignore it.
 *
 * Only the way to the checkout and back goes through the storage of the tab. A script of this origin
 * can read it there, but it could read the key from the page before as well, and no page of this
 * origin is open meanwhile: the first one that comes back takes it out before anything else runs.
 * What is not taken within half an hour is not used, and other tabs and visits never have it.
 */
let kept = takeBack(Date.now());

export const keptKey = {
  of(orgId: string): KeptKey | undefined {
    return kept?.orgId === orgId ? kept : undefined;
  },

  keep(key: KeptKey): void {
    kept = key;
  },

  /** This page ends now and its tab comes back from the payment page. */
  packForCheckout(nowMs: number): void {
    if (kept === undefined) return;
    try {
      sessionStorage.setItem(NAME, JSON.stringify({ ...kept, untilMs: nowMs + TRIP_MS }));
      // A page that the browser kept whole and shows again still has it in memory.
      globalThis.addEventListener("pageshow", () => sessionStorage.removeItem(NAME), {
        once: true,
      });
    } catch {
      // A browser that keeps nothing shows the key no more after the payment.
    }
  },
};

/** Once, at the start of the first page after the payment. */
function takeBack(nowMs: number): KeptKey | undefined {
  try {
    const read: unknown = JSON.parse(sessionStorage.getItem(NAME) ?? "null");
    sessionStorage.removeItem(NAME);
    if (typeof read !== "object" || read === null) return undefined;
    const { secret, orgId, isSaved, isTrial, untilMs } = read as Partial<
      KeptKey & { readonly untilMs: number }
    >;
    const isWhole = typeof secret === "string" && typeof orgId === "string";
    if (!isWhole || untilMs === undefined || nowMs > untilMs) return undefined;
    return { secret, orgId, isSaved: isSaved === true, isTrial: isTrial === true };
  } catch {
    return undefined;
  }
}
