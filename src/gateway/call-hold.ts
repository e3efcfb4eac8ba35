import { ZERO_PICO_USD } from "../core/money.ts";
import type { CloseOutcome, CloseRow, ReserveOutcome, ReserveRow } from "../ledger/ledger-store.ts";
import { tokenCount, type LimitLease, type TokenCount } from "../limits/limit-store.ts";
import type { ServeDeps } from "./serve-deps.ts";

/**
 * What an admitted call holds until it ends: one open attempt in the journal and one limit lease.
 * Whatever happens to the call, both are given back exactly once.
 */
export class CallHold {
  readonly #deps: Pick<ServeDeps, "ledger" | "limits" | "clock">;
  #open: ReserveRow | undefined;
  #lease: LimitLease | undefined;

  constructor(
    deps: Pick<ServeDeps, "ledger" | "limits" | "clock">,
    reserve: ReserveRow,
    lease: LimitLease,
  ) {
    this.#deps = deps;
    this.#open = reserve;
    this.#lease = lease;
  }

  close(row: CloseRow): Promise<CloseOutcome> {
    this.#open = undefined;
    return this.#deps.ledger.close(row);
  }

  async roll(row: CloseRow, next: ReserveRow): Promise<ReserveOutcome> {
    this.#open = undefined;
    const outcome = await this.#deps.ledger.roll(row, next);
    if (outcome.kind === "reserved") this.#open = next;
    return outcome;
  }

  release(tokens: TokenCount): void {
    if (this.#lease === undefined) return;
    this.#deps.limits.release(this.#lease, tokens, this.#deps.clock.monotonicMs());
    this.#lease = undefined;
  }

  /** After a fault of our own: nobody pays for it, and nothing stays held until a restart. */
  giveUp(): void {
    const open = this.#open;
    if (open !== undefined) void this.close(faultRow(open, this.#deps.clock.nowMs()));
    this.release(tokenCount(0, 0));
  }
}

function faultRow(open: ReserveRow, nowMs: number): CloseRow {
  return {
    attemptId: open.attemptId,
    outcome: "failed",
    usage: null,
    basis: "none",
    costPicoUsd: ZERO_PICO_USD,
    upstreamStatus: null,
    errorClass: "gateway_error",
    startedAtMs: nowMs,
    firstByteMs: null,
    durationMs: 0,
    final: true,
  };
}
