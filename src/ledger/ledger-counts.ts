import {
  type Clock,
  type Family,
  HistogramFamily,
  increment,
  mapped,
  oneValue,
  ReadFamily,
} from "../kernel/index.ts";
import { BatchFault, type CloseVerdict } from "./ledger-batch-store.ts";

export type LedgerBatchKind = "batch" | "late";

export type LedgerRowKind = "hold" | "closing" | "late_closing";

/** `reserve`: holds and closings; `close`: late closings; `refused`: refused requests. */
export type LedgerLaneName = "reserve" | "close" | "refused";

export interface LedgerState {
  readonly queueRows: Readonly<Record<LedgerLaneName, number>>;
  readonly closingsPending: number;
  /** Monotonic time at which the oldest closing was queued; undefined if there is none. */
  readonly oldestClosingMs: number | undefined;
  readonly leaseMs: number;
}

export class LedgerCounts {
  readonly batches: Map<LedgerBatchKind, number> = new Map();
  readonly rows: Map<LedgerRowKind, number> = new Map();
  /** The number of failed batches for each `lane|kind`. */
  readonly faults: Map<string, number> = new Map();
  annulled = 0;
  recovered = 0;
  /** Number of open attempts of dead instances whose closing breaks a constraint of the books. */
  stuck = 0;
  corrected = 0;
  readonly #batchSeconds = new HistogramFamily("tm_ledger_batch_seconds");
  readonly #batchRows = new HistogramFamily("tm_ledger_batch_rows");
  /** Faults that were counted already: the same fault may be reported twice, but it counts once. */
  readonly #counted: WeakSet<object> = new WeakSet();
  #state: () => LedgerState | undefined = () => undefined;

  add(kind: LedgerBatchKind, rows: Readonly<Partial<Record<LedgerRowKind, number>>>): void {
    increment(this.batches, kind);
    for (const [row, count] of Object.entries(rows) as [LedgerRowKind, number][]) {
      increment(this.rows, row, count);
    }
  }

  async timed<T>(
    batch: { readonly lane: LedgerLaneName; readonly rows: number; readonly clock: Clock },
    send: () => Promise<T>,
  ): Promise<T> {
    const { lane, rows, clock } = batch;
    const startedMs = clock.monotonicMs();
    try {
      return await send();
    } catch (fault) {
      this.fault(lane, fault);
      throw fault;
    } finally {
      this.#batchSeconds.of(lane).observe((clock.monotonicMs() - startedMs) / 1000);
      this.#batchRows.of(lane).observe(rows);
    }
  }

  fault(lane: LedgerLaneName, fault: unknown): void {
    if (fault instanceof Error) {
      if (this.#counted.has(fault)) return;
      this.#counted.add(fault);
    }
    const kind = fault instanceof BatchFault ? fault.kind : "busy";
    increment(this.faults, `${lane}|${kind}`);
  }

  verdicts(verdicts: readonly (CloseVerdict | undefined)[]): void {
    for (const verdict of verdicts) if (verdict?.kind === "corrected") this.corrected += 1;
  }

  watch(state: () => LedgerState): void {
    this.#state = state;
  }

  families(clock: Clock): readonly Family[] {
    const pending = (): number | undefined => this.#state()?.closingsPending;
    const oldest = (): number => {
      const sinceMs = this.#state()?.oldestClosingMs;
      return sinceMs === undefined ? 0 : Math.max(0, clock.monotonicMs() - sinceMs) / 1000;
    };
    return [
      mapped("tm_ledger_batches_total", this.batches),
      mapped("tm_ledger_rows_total", this.rows),
      this.#batchSeconds,
      this.#batchRows,
      new ReadFamily("tm_ledger_queue_rows", () =>
        Object.entries(this.#state()?.queueRows ?? {}).map(([lane, rows]) => [[lane], rows]),
      ),
      oneValue("tm_ledger_closings_pending", pending),
      oneValue("tm_ledger_oldest_closing_seconds", oldest),
      oneValue("tm_ledger_lease_seconds", () => (this.#state()?.leaseMs ?? 0) / 1000),
      mapped("tm_ledger_faults_total", this.faults),
      oneValue("tm_ledger_annulled_total", () => this.annulled),
      oneValue("tm_ledger_recovered_total", () => this.recovered),
      oneValue("tm_ledger_stuck_attempts", () => this.stuck),
      oneValue("tm_ledger_corrected_total", () => this.corrected),
    ];
  }
}
