import type { AttemptId } from "../kernel/index.ts";

/** Above that, recovery fails as a whole, and is tried again. */
const STUCK_MAX = 1_000;

/** Open attempts of dead instances whose closing breaks a rule of the books. */
export class StuckAttempts {
  readonly #attempts = new Set<AttemptId>();
  readonly #note: (attemptId: AttemptId, fault: unknown) => void;

  /** `note` is called once for each, with the reason. */
  constructor(note: (attemptId: AttemptId, fault: unknown) => void) {
    this.#note = note;
  }

  get size(): number {
    return this.#attempts.size;
  }

  has(attemptId: AttemptId): boolean {
    return this.#attempts.has(attemptId);
  }

  add(attemptId: AttemptId, fault: unknown): void {
    if (this.#attempts.size >= STUCK_MAX) throw fault;
    this.#attempts.add(attemptId);
    this.#note(attemptId, fault);
  }

  /** The others are not open any more. */
  keepOnly(open: ReadonlySet<AttemptId>): void {
    for (const attemptId of this.#attempts) {
      if (!open.has(attemptId)) this.#attempts.delete(attemptId);
    }
  }
}
