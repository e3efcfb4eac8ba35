/**
 * The cost of an answer as a decimal text of dollars, exactly as it was sent; undefined when the
 * answer does not say. Parsed JSON would have made a float of it.
 */
export function exactCost(answerText: string): string | undefined {
  let found: string | undefined;
  for (const [, digits = ""] of answerText.matchAll(/"(?:cost|total_cost)"\s*:\s*([0-9.]+)/g)) {
    found = digits;
  }
  if (found === undefined) return undefined;
  const [, whole, fraction = ""] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(found) ?? [];
  return whole === undefined ? undefined : `${whole}.${fraction.padEnd(6, "0")}`;
}
