const EXACT_BELOW_MS = 32;
const SPANS_PER_DOUBLING = 16;

/** The middle of a span as `first_byte_span` numbers them, in whole milliseconds. */
export function spanMiddleMs(span: number | null): number | null {
  if (span === null || span < EXACT_BELOW_MS) return span;
  const doublings = Math.floor(span / SPANS_PER_DOUBLING) - 1;
  const first = (span - doublings * SPANS_PER_DOUBLING) << doublings;
  return first + ((1 << doublings) >> 1);
}
