/**
 * Finds the cost in an answer's JSON, in dollars with six decimals; undefined if there is none. It
 * is read from the JSON text, because `JSON.parse` would round it to a float.
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
