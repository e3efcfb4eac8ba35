import type { AttemptId } from "../../src/kernel/core/ids.ts";
import type {
  CloseOutcome,
  CloseRow,
  Ledger,
  RefusedRequest,
  ReserveOutcome,
  ReserveRow,
} from "../../src/ledger/ledger-store.ts";

/** Is told what calls ask of the ledger and what it answers. */
export interface LedgerWatcher<Owner> {
  reserving(row: ReserveRow, owner: Owner): void;
  reserved(row: ReserveRow, outcome: ReserveOutcome): void;
  closing(row: CloseRow): void;
  closed(row: CloseRow, outcome: CloseOutcome): void;
  refused(request: RefusedRequest): void;
}

/** A ledger that passes everything on unchanged and tells a watcher. */
export class ObservedLedger<Owner> implements Ledger {
  readonly #ledger: Ledger;
  readonly #owner: Owner;
  readonly #watcher: LedgerWatcher<Owner>;

  constructor(ledger: Ledger, owner: Owner, watcher: LedgerWatcher<Owner>) {
    this.#ledger = ledger;
    this.#owner = owner;
    this.#watcher = watcher;
  }

  get healthy(): boolean {
    return this.#ledger.healthy;
  }

  newAttemptId(): AttemptId {
    return this.#ledger.newAttemptId();
  }

  async reserve(row: ReserveRow): Promise<ReserveOutcome> {
    this.#watcher.reserving(row, this.#owner);
    const outcome = await this.#ledger.reserve(row);
    this.#watcher.reserved(row, outcome);
    return outcome;
  }

  async roll(close: CloseRow, next: ReserveRow): Promise<ReserveOutcome> {
    this.#watcher.closing(close);
    this.#watcher.reserving(next, this.#owner);
    const outcome = await this.#ledger.roll(close, next);
    this.#watcher.reserved(next, outcome);
    return outcome;
  }

  async close(row: CloseRow): Promise<CloseOutcome> {
    this.#watcher.closing(row);
    const outcome = await this.#ledger.close(row);
    this.#watcher.closed(row, outcome);
    return outcome;
  }

  recordRefused(request: RefusedRequest): void {
    this.#watcher.refused(request);
    this.#ledger.recordRefused(request);
  }

  shutDown(): Promise<void> {
    return this.#ledger.shutDown();
  }
}
