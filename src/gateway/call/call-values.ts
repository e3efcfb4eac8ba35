import type { MicroUsd } from "../../kernel/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import type { ReserveRow } from "../../ledger/index.ts";
import type { TokenCount } from "../limits/limit-store.ts";
import type { CallRequest } from "../../formats/index.ts";
import type { CallKind, CallTokens } from "./call-kind.ts";
import type { Candidate, CandidateList } from "./candidates.ts";
import type { LimitedCall } from "./claim-limits.ts";
import type { MarketplaceClaim } from "./marketplace-claim.ts";
import type { AttemptTrace, RequestTrace } from "./request-trace.ts";
import type { Settlement } from "./settlement.ts";

/** A request that was read and planned. It is made once and never changed. */
export interface AcceptedCall<R extends CallRequest> {
  readonly kind: CallKind<R>;
  readonly request: R;
  /** What may serve it, in order. */
  readonly candidates: CandidateList;
  /** By which it is served where it was served last; undefined: nothing depends on it. */
  readonly conversation: string | undefined;
  /** The estimate that the token windows are claimed by. */
  readonly tokens: CallTokens;
  /** What decides which limits it is claimed by. */
  readonly limited: LimitedCall;
  /** What is claimed once a key of the marketplace's is to serve it. */
  readonly marketplace: MarketplaceClaim | undefined;
  /** Longest time until a provider is tried. */
  readonly timeoutMs: number;
  /** Undefined: no traces are exported, or it is a dry run. */
  readonly trace: RequestTrace | undefined;
}

/** An attempt whose worst case is held in the journal, and the candidate that it goes to. */
export interface HeldAttempt {
  readonly candidate: Candidate;
  readonly reserve: ReserveRow;
  readonly trace: AttemptTrace | undefined;
}

/** One physical dispatch that has ended. */
export interface EndedAttempt {
  readonly kind: "ended";
  readonly attemptId: ReserveRow["attemptId"];
  readonly startedAtMs: number;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
  /** What the settlement comes to; the ledger's word counts when it differs. */
  readonly debitMicroUsd: MicroUsd;
  /** What it put into the token windows. */
  readonly tokens: TokenCount;
}
