import type { OrgId } from "../core/index.ts";
import type { ScopeClaim } from "../limits/index.ts";

/** A request whose client left, and until when its answer is read at the longest. */
export interface DepartedRequest {
  readonly orgId: OrgId;
  /** The limits that it occupies a slot of until then. */
  readonly scopes: readonly Pick<ScopeClaim, "id" | "shownId">[];
  /** Monotonic milliseconds. */
  readonly endsAtMs: number;
}

/** The departed requests of one scope. */
export interface Departed {
  readonly count: number;
  /** Monotonic time at which one of them must have ended. */
  readonly firstEndsAtMs: number;
}

/** Bounds how many answers are read on after their client left, and knows whose they are. */
export class DetachedReadLimit {
  #max: number;
  readonly #reading: Set<DepartedRequest> = new Set();

  constructor(max: number) {
    this.#max = max;
  }

  /** From now on; what is read already is read to its end. */
  follow(max: number): void {
    this.#max = max;
  }

  get active(): number {
    return this.#reading.size;
  }

  /** False: the bound is reached, the answer is cut instead of read on. */
  enter(request: DepartedRequest): boolean {
    if (this.#reading.size >= this.#max) return false;
    this.#reading.add(request);
    return true;
  }

  leave(request: DepartedRequest): void {
    this.#reading.delete(request);
  }

  /**
   * What this process reads of an organization in one of its scopes. It walks over all of them:
   * only a refusal and `GET /v1/limits` ask.
   */
  departed(orgId: OrgId, shownId: string): Departed {
    let count = 0;
    let firstEndsAtMs = Number.POSITIVE_INFINITY;
    for (const request of this.#reading) {
      if (request.orgId !== orgId) continue;
      if (!request.scopes.some((scope) => (scope.shownId ?? scope.id) === shownId)) continue;
      count += 1;
      firstEndsAtMs = Math.min(firstEndsAtMs, request.endsAtMs);
    }
    return { count, firstEndsAtMs };
  }
}
