/** The wall-clock milliseconds in a request id: a UUID of version 7 begins with them. */
export function readCreatedAt(requestId: string): number {
  return Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16);
}

/** The lowest id a request of this instant can have. */
export function requestIdFrom(atMs: number): string {
  const hex = Math.max(0, Math.trunc(atMs)).toString(16).padStart(12, "0").slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Other attempts of a request have ids within this of its own, as `join_attempts` has it. */
export const TWO_DAYS_OF_IDS: bigint = 172_800_000n << 22n;
