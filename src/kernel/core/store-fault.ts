const faults = new WeakSet();

/** Marks a fault as the store's, not the request's, and returns it. */
export function asStoreFault(fault: unknown): unknown {
  if (fault instanceof Error) faults.add(fault);
  return fault;
}

/** True if a store did not answer: a retry may succeed. Follows `cause` up to four levels. */
export function isStoreFault(fault: unknown): boolean {
  for (let each = fault, depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (!(each instanceof Error)) return false;
    if (faults.has(each)) return true;
    each = each.cause;
  }
  return false;
}

const CAUSES_MAX = 5;

/** Returns a fault's message, for the end of a sentence. */
export function toReason(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
