import type { OrgId } from "../../kernel/index.ts";
import type { CloseOutcome, CloseRow, ReserveOutcome, ReserveRow } from "../../ledger/index.ts";
import { type ScopeClaim, tokenCount, type TokenCount } from "../limits/limit-store.ts";
import { faultRow } from "./attempt-rows.ts";
import type { ClaimedScopes } from "./claimed-scopes.ts";
import type { CallPorts } from "./ports.ts";

type HoldPorts = Pick<CallPorts, "ledger" | "shortfalls" | "clock">;

/**
 * What a call holds until it ends: its own limits, the place in a provider's pool, and one open
 * attempt in the journal. Whatever happens to the call, each is released exactly once.
 */
export class CallHold {
  readonly #ports: HoldPorts;
  readonly #own: ClaimedScopes;
  #pool: ClaimedScopes | undefined;
  #open: ReserveRow | undefined;
  /** Whose money it has held; undefined: nothing was held yet. */
  #heldOf: OrgId | undefined;

  constructor(ports: HoldPorts, own: ClaimedScopes) {
    this.#ports = ports;
    this.#own = own;
  }

  /** What it has claimed before a candidate was chosen. */
  get limits(): ClaimedScopes {
    return this.#own;
  }

  /** The client left: see `ClaimedScopes`. */
  depart(): readonly ScopeClaim[] {
    return this.#own.depart(this.#ports.clock.monotonicMs());
  }

  /** Holds the worst case of the first attempt; a refusal gives its place in the pool back. */
  reserve(row: ReserveRow, pool: ClaimedScopes | undefined): Promise<ReserveOutcome> {
    this.#pool = pool;
    const { ledger, shortfalls } = this.#ports;
    const known = shortfalls.find(row);
    if (known !== undefined) return Promise.resolve(this.#opened(row, known));
    const asked = shortfalls.asking(row.orgId);
    return ledger.reserve(row).then((outcome) => {
      shortfalls.note(row, outcome, asked);
      return this.#opened(row, outcome);
    });
  }

  close(row: CloseRow): Promise<CloseOutcome> {
    this.#open = undefined;
    return this.#ports.ledger.close(row);
  }

  /** Closes an attempt and holds the next one's worst case, in one step. */
  async roll(
    row: CloseRow,
    next: ReserveRow,
    pool: ClaimedScopes | undefined,
  ): Promise<ReserveOutcome> {
    this.#open = undefined;
    this.#pool = pool;
    const outcome = await this.#ports.ledger.roll(row, next);
    this.#ports.shortfalls.forget(next.orgId);
    return this.#opened(next, outcome);
  }

  /** The attempt outlives the request: a job of the provider continues. */
  keepOpen(): void {
    this.#open = undefined;
  }

  /** The attempt is over: its place in the pool is free. */
  leavePool(tokens: TokenCount): void {
    this.#pool?.release(tokens, this.#ports.clock.monotonicMs());
    this.#pool = undefined;
  }

  release(tokens: TokenCount): void {
    this.leavePool(tokens);
    // What the call has not used up is free: the ledger may now hold what it refused before.
    if (this.#heldOf !== undefined) this.#ports.shortfalls.forget(this.#heldOf);
    this.#own.release(tokens, this.#ports.clock.monotonicMs());
  }

  /** Nothing was sent: as if the request had never been let in. */
  undo(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    this.#pool?.undo(nowMs);
    this.#pool = undefined;
    this.#own.undo(nowMs);
  }

  /** After a fault of our own: it is not charged, and nothing stays held until a restart. */
  giveUp(): void {
    if (this.#heldOf === undefined) return this.undo();
    const open = this.#open;
    if (open !== undefined) void this.close(faultRow(open, this.#ports.clock.nowMs()));
    this.release(tokenCount(0, 0));
  }

  #opened(row: ReserveRow, outcome: ReserveOutcome): ReserveOutcome {
    if (outcome.kind === "reserved") {
      this.#open = row;
      this.#heldOf = row.orgId;
    } else {
      this.#pool?.undo(this.#ports.clock.monotonicMs());
      this.#pool = undefined;
    }
    return outcome;
  }
}
