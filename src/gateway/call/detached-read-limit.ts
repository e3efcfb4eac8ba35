import type { OrgId } from "../../kernel/index.ts";
import type { ScopeClaim } from "../limits/limit-store.ts";

/** A request whose client left while its answer is still read. */
export interface DepartedRequest {
  readonly orgId: OrgId;
  /** The scopes in which it holds a place meanwhile. */
  readonly scopes: readonly Pick<ScopeClaim, "id" | "shownId">[];
  /** The latest end of the reading, in monotonic milliseconds. */
  readonly endsAtMs: number;
}

/**
 * Bounds how many answers are still read after their clients left, and records their organizations.
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

  /** False if the bound is reached: the answer must be aborted instead of read to its end. */
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
   * The monotonic time at which the given number of an organization's detached reads in a scope
   * must have ended; infinity if this process has fewer. It iterates over all of them, because only
   * refusals need it.
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
