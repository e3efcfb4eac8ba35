import { createHash } from "node:crypto";

import { type ChangedBy, picoUsd, type PicoUsd, ZERO_PICO_USD } from "../../kernel/index.ts";
import type { SettlementStore } from "./postgres-settlement-store.ts";
import { wholePeriod } from "./settlement-entries.ts";
import type { ClaimLine, ProviderClaim } from "./settlement-file.ts";
import type { ClaimComparison, ProviderPeriod, SettlementEntry } from "./settlement-rows.ts";

/**
 * Compares a provider's own statement with a closed period and records the comparison, once per
 * file. Rejects with `SettlementFault` if attempts of the period were retired.
 */
export async function compareStatement(
  store: Pick<SettlementStore, "entries" | "recordClaim">,
  of: {
    readonly period: ProviderPeriod;
    readonly claim: ProviderClaim;
    readonly bytes: Uint8Array;
  },
  by: ChangedBy,
): Promise<Reconciliation> {
  const { period, claim, bytes } = of;
  const { providerId, startMs } = period;
  const entries = wholePeriod(period, store.entries(period));
  const comparison = await reconcile(claim, period.sums.costPicoUsd, entries);
  const sha256 = createHash("sha256").update(bytes).digest();
  await store.recordClaim({ providerId, startMs, sha256, comparison }, by);
  return comparison;
}

export interface DifferingLine {
  readonly kind: "differs" | "only_theirs" | "only_ours" | "unknown_claimed";
  readonly of: ClaimLine["of"];
  readonly id: string;
  /** Null if the provider does not bill this attempt or request. */
  readonly theirPicoUsd: PicoUsd | null;
  /** Null if we do not know the attempt or its cost. */
  readonly ourPicoUsd: PicoUsd | null;
}

export interface Reconciliation extends ClaimComparison {
  readonly differencePicoUsd: PicoUsd;
  /** The sum of the provider's lines if it differs from the provider's total, otherwise null. */
  readonly theirLinesPicoUsd: PicoUsd | null;
  readonly firstDiffering: readonly DifferingLine[];
  readonly isEqual: boolean;
}

const DIFFERING_LINES_SHOWN = 20;

/** Compares totals and lines exactly: a line for a request with the sum of its attempts. */
export async function reconcile(
  claim: ProviderClaim,
  ourTotalPicoUsd: PicoUsd,
  entries: AsyncIterable<readonly SettlementEntry[]>,
): Promise<Reconciliation> {
  const differencePicoUsd = picoUsd(claim.totalPicoUsd - ourTotalPicoUsd);
  const totals = { theirPicoUsd: claim.totalPicoUsd, ourPicoUsd: ourTotalPicoUsd };
  if (claim.lines === undefined) {
    const isEqual = differencePicoUsd === 0n;
    const rest = { lines: null, theirLinesPicoUsd: null, firstDiffering: [] };
    return { ...totals, ...rest, differencePicoUsd, isEqual };
  }
  const matching = new LineMatching(claim.lines);
  for await (const block of entries) for (const entry of block) matching.match(entry);
  matching.finish();
  const theirSum = picoUsd(claim.lines.reduce((sum, line) => sum + line.costPicoUsd, 0n));
  const theirLinesPicoUsd = theirSum === claim.totalPicoUsd ? null : theirSum;
  const agrees = matching.firstDiffering.length === 0 && theirLinesPicoUsd === null;
  return {
    ...totals,
    lines: matching.counts,
    theirLinesPicoUsd,
    differencePicoUsd,
    firstDiffering: matching.firstDiffering,
    isEqual: differencePicoUsd === 0n && agrees,
  };
}

interface Match {
  their: bigint;
  our: bigint;
  isOurs: boolean;
  isUnknown: boolean;
}

class LineMatching {
  readonly counts = { compared: 0, differing: 0, onlyTheirs: 0, onlyOurs: 0, unknownClaimed: 0 };
  readonly firstDiffering: DifferingLine[] = [];
  readonly #attempts = new Map<string, Match>();
  readonly #requests = new Map<string, Match>();

  /** Adds up the lines of one attempt or request, so that an attempt billed twice costs double. */
  constructor(lines: readonly ClaimLine[]) {
    for (const { of, id, costPicoUsd } of lines) {
      const matches = of === "attempt" ? this.#attempts : this.#requests;
      const fresh = { their: 0n, our: 0n, isOurs: false, isUnknown: false };
      const match = matches.get(id) ?? fresh;
      match.their += costPicoUsd;
      matches.set(id, match);
    }
  }

  match(entry: SettlementEntry): void {
    const id = entry.attemptId.toString();
    const match = this.#attempts.get(id) ?? this.#requests.get(entry.requestId);
    if (match !== undefined) {
      match.our += entry.costPicoUsd ?? ZERO_PICO_USD;
      match.isOurs = true;
      match.isUnknown ||= entry.costPicoUsd === null;
      return;
    }
    // The provider need not bill an attempt that cost nothing or whose cost we do not know.
    if (entry.costPicoUsd === null || entry.costPicoUsd === 0n) return;
    const ourPicoUsd = entry.costPicoUsd;
    this.#add("onlyOurs", { kind: "only_ours", of: "attempt", id, theirPicoUsd: null, ourPicoUsd });
  }

  finish(): void {
    for (const [id, match] of this.#attempts) this.#judge("attempt", id, match);
    for (const [id, match] of this.#requests) this.#judge("request", id, match);
  }

  #judge(of: ClaimLine["of"], id: string, match: Match): void {
    const { their, our, isOurs, isUnknown } = match;
    this.counts.compared += 1;
    const line = { of, id, theirPicoUsd: picoUsd(their) };
    if (!isOurs) {
      this.#add("onlyTheirs", { kind: "only_theirs", ...line, ourPicoUsd: null });
    } else if (their !== our && isUnknown) {
      const ourPicoUsd = our === 0n ? null : picoUsd(our);
      this.#add("unknownClaimed", { kind: "unknown_claimed", ...line, ourPicoUsd });
    } else if (their !== our) {
      this.#add("differing", { kind: "differs", ...line, ourPicoUsd: picoUsd(our) });
    }
  }

  #add(counted: keyof LineMatching["counts"], line: DifferingLine): void {
    this.counts[counted] += 1;
    if (this.firstDiffering.length < DIFFERING_LINES_SHOWN) this.firstDiffering.push(line);
  }
}
