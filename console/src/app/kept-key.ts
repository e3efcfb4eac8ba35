import { recallFields, remember } from "../ui/browser-memory.ts";

/** A raw virtual key that this tab still has in its memory. */
export interface KeptKey {
  readonly secret: string;
  readonly orgId: string;
  readonly isSaved: boolean;
  /** True for a trial key: until it is saved, the server can show it to this browser again. */
  readonly isTrial: boolean;
}

const NAME = "tm-key-at-checkout";
/** How long the stored copy of the key is valid. A checkout is open for at most 45 minutes. */
const TRIP_MS = 60 * 60_000;

/**
 * Keeps the raw key in this tab's memory, so that examples show it during the whole visit. A reload
 * forgets it, and the pages of another organization ignore it.
 *
 * The key is in the tab's storage only while the browser is at the checkout. A script of this
 * origin could read it there, but such a script could also have read it from the page before. In
 * the meantime, this tab shows no page of this origin. The console's first page after the payment
 * removes the key from the storage, and ignores a key that is older than an hour.
 */
let kept = takeBack(Date.now());

export const keptKey = {
  of(orgId: string): KeptKey | undefined {
    return kept?.orgId === orgId ? kept : undefined;
  },

  keep(key: KeptKey): void {
    kept = key;
  },

  /** Copies the key into the tab's storage, just before the browser leaves for the payment page. */
  packForCheckout(nowMs: number): void {
    if (kept === undefined) return;
    remember("sessionStorage", NAME, { ...kept, untilMs: nowMs + TRIP_MS });
    // If the browser restores this page from its cache, the key is still in memory, and the stored
    // copy must go.
    const forget = (): void => remember("sessionStorage", NAME, undefined);
    globalThis.addEventListener("pageshow", forget, { once: true });
  },
};

function takeBack(nowMs: number): KeptKey | undefined {
  const { secret, orgId, isSaved, isTrial, untilMs } = recallFields("sessionStorage", NAME);
  remember("sessionStorage", NAME, undefined);
  if (typeof secret !== "string" || typeof orgId !== "string") return undefined;
  if (typeof untilMs !== "number" || nowMs > untilMs) return undefined;
  return { secret, orgId, isSaved: isSaved === true, isTrial: isTrial === true };
}
