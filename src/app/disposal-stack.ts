type Close = () => void | Promise<void>;

/** Closes everything that was opened, once, in reverse order of opening. */
export class DisposalStack {
  readonly #closes: Close[] = [];

  use<T extends { close: Close }>(opened: T): T {
    this.defer(() => opened.close());
    return opened;
  }

  defer(close: Close): void {
    this.#closes.push(close);
  }

  /** Closes everything even if one `close` fails; then throws the first failure. */
  async close(): Promise<void> {
    const faults: unknown[] = [];
    for (let close = this.#closes.pop(); close !== undefined; close = this.#closes.pop()) {
      try {
        await close();
      } catch (fault) {
        faults.push(fault);
      }
    }
    if (faults.length > 0) throw faults[0];
  }
}
