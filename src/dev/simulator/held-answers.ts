/** Answers that are kept back until all of them are released together. */
export class HeldAnswers {
  readonly #waiting = new Set<() => void>();

  /** Waits for `release`; rejects when the client has left before. */
  async wait(gone: AbortSignal): Promise<void> {
    gone.throwIfAborted();
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      gone.addEventListener("abort", () => resolve(), { once: true });
    });
    gone.throwIfAborted();
  }

  release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
