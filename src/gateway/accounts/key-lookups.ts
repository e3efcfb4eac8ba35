import { KEY_LOOKUP_KEYS_MAX, KEY_LOOKUP_PAUSE_MS } from "../../kernel/index.ts";
import type { KeyRecord, KeyStore } from "./key-store.ts";

interface Waiting {
  /** SHA-256 of the key, hexadecimal. */
  readonly digest: string;
  readonly answer: (record: KeyRecord | undefined) => void;
  readonly fail: (fault: unknown) => void;
}

/**
 * Reads keys in batches that form by themselves. After a batch with an unknown key the next one
 * waits for `KEY_LOOKUP_PAUSE_MS`: a flood of random keys costs few statements however large it is,
 * and a customer's key that comes with them waits for one pause. Keys that exist never wait.
 */
export class KeyLookups {
  readonly #keyStore: KeyStore;
  #queue: Waiting[] = [];
  #isScheduled = false;
  #pause: NodeJS.Timeout | undefined;

  constructor(keyStore: KeyStore) {
    this.#keyStore = keyStore;
  }

  find(digest: string): Promise<KeyRecord | undefined> {
    return new Promise((answer, fail) => {
      this.#queue.push({ digest, answer, fail });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#pause !== undefined || this.#queue.length === 0) return;
    this.#isScheduled = true;
    // After the input of this event loop iteration: what arrived together is asked together.
    setImmediate(() => void this.#send());
  }

  async #send(): Promise<void> {
    this.#isScheduled = false;
    const batch = this.#queue.splice(0, KEY_LOOKUP_KEYS_MAX);
    // Before the answer: a store that is slow gets the next batch while it works on this one.
    const pause = setTimeout(() => this.#resume(pause), KEY_LOOKUP_PAUSE_MS);
    this.#pause = pause;
    try {
      const records = await this.#keyStore.findByDigests(
        batch.map(({ digest }) => Buffer.from(digest, "hex")),
      );
      for (const { digest, answer } of batch) answer(records.get(digest));
      if (batch.every(({ digest }) => records.has(digest))) this.#resume(pause);
    } catch (fault) {
      for (const { fail } of batch) fail(fault);
    }
  }

  #resume(pause: NodeJS.Timeout): void {
    clearTimeout(pause);
    if (this.#pause !== pause) return;
    this.#pause = undefined;
    this.#schedule();
  }
}
