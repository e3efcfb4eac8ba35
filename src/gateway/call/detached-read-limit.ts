import type { OrgId } from "../../kernel/index.ts";
import type { ScopeClaim } from "../limits/limit-store.ts";

/** A request whose client has left while its provider's answer is still being read. */
export interface DepartedRequest {
  readonly orgId: OrgId;
  readonly scopes: readonly Pick<ScopeClaim, "id" | "shownId">[];
  /** The monotonic time in milliseconds at which reading stops at the latest. */
  readonly endsAtMs: number;
}

/**
 * Bounds how many answers this process keeps reading after their clients left. It reads them
 * because most answers report the usage, by which the attempt is settled, only at their end.
 */
export class DetachedReadLimit {
  readonly #max: number;
  readonly #reading: Set<DepartedRequest> = new Set();

  constructor(max: number) {
    this.#max = max;
  }

  get active(): number {
    return this.#reading.size;
  }

  get hasCapacity(): boolean {
    return this.#reading.size < this.#max;
  }

  enter(request: DepartedRequest): void {
    this.#reading.add(request);
  }

  leave(request: DepartedRequest): void {
    this.#reading.delete(request);
  }

  /**
   * Returns the monotonic time by which `count` of the organization's departed requests in this
   * scope will have ended; Infinity if there are fewer. A scan suffices: only refusals call this.
   */
  endsAtMs(orgId: OrgId, shownId: string, count: number): number {
    const ends: number[] = [];
    for (const request of this.#reading) {
      if (request.orgId !== orgId) continue;
      if (!request.scopes.some((scope) => (scope.shownId ?? scope.id) === shownId)) continue;
      ends.push(request.endsAtMs);
    }
    return ends.sort((a, b) => a - b)[count - 1] ?? Number.POSITIVE_INFINITY;
  }
}
