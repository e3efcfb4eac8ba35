/** Faults of a store that does not answer; the store that met one has noted it here. */
const faults = new WeakSet();

/** Notes that this fault is the store's and not the request's; answers the same fault. */
export function asStoreFault(fault: unknown): unknown {
  if (typeof fault === "object" && fault !== null) faults.add(fault);
  return fault;
}

/** True if a store failed to respond in time; the same request may succeed in a moment. */
export function isStoreFault(fault: unknown): boolean {
  for (let each = fault, depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (typeof each !== "object" || each === null) return false;
    if (faults.has(each)) return true;
    each = (each as { readonly cause?: unknown }).cause;
  }
  return false;
}

const CAUSES_MAX = 5;
