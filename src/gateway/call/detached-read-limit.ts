import type { OrgId } from "../../kernel/index.ts";
import type { ScopeClaim } from "../limits/limit-store.ts";

/** A request whose client left, and until when its answer is read at the longest. */
export interface DepartedRequest {
  readonly orgId: OrgId;
  /** The scopes in which it has a place until then. */
  readonly scopes: readonly Pick<ScopeClaim, "id" | "shownId">[];
  /** Monotonic milliseconds. */
  readonly endsAtMs: number;
}

/** Bounds how many answers are read on after their client left, and knows whose they are. */
export class DetachedReadLimit {
  readonly #max: number;
  readonly #reading: Set<DepartedRequest> = new Set();

  constructor(max: number) {
    this.#max = max;
  }

  get active(): number {
    return this.#reading.size;
  }

  /** False: the bound is reached, the answer is to be cut instead of read on. */
  get hasRoom(): boolean {
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
