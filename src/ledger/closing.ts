import { microUsd, SETTLE_WAIT_MS } from "../kernel/index.ts";
import type { CloseVerdict } from "./ledger-batch-store.ts";
import type { CloseOutcome, CloseRow } from "./ledger-store.ts";

/** A closing on its way to its commit, and who waits for the answer. */
export interface Closing {
  readonly row: CloseRow;
  readonly queuedAtMs: number;
  /** Undefined once answered: the row itself stays until it commits. */
  answer: ((outcome: CloseOutcome) => void) | undefined;
}

/** The time since which the first of them was queued. */
export function oldestOf(closings: readonly (Closing | undefined)[]): number | undefined {
  let oldestMs: number | undefined;
  for (const closing of closings) {
    if (closing === undefined) continue;
    oldestMs = Math.min(oldestMs ?? closing.queuedAtMs, closing.queuedAtMs);
  }
  return oldestMs;
}

export function answerOnce(closing: Closing, outcome: CloseOutcome): void {
  closing.answer?.(outcome);
  closing.answer = undefined;
}

export function answerVerdict(closing: Closing, verdict: CloseVerdict): void {
  answerOnce(closing, outcomeOf(verdict));
}

/** Those that wait for longer than `SETTLE_WAIT_MS` get `pending`. */
export function answerOverdue(closings: readonly Closing[], nowMs: number): void {
  for (const closing of closings) {
    if (closing.queuedAtMs <= nowMs - SETTLE_WAIT_MS) answerOnce(closing, { kind: "pending" });
  }
}

function outcomeOf(verdict: CloseVerdict): CloseOutcome {
  const debitMicroUsd = microUsd(verdict.debitMicroUsd);
  return verdict.kind === "closed" || verdict.kind === "corrected"
    ? { kind: "closed", debitMicroUsd, overrun: verdict.overrunMicroUsd > 0n }
    : { kind: "already_closed", debitMicroUsd };
}
