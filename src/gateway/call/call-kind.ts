import type { Deployment } from "../../catalog/index.ts";
import type { Result } from "../../kernel/index.ts";
import type { ReserveRow } from "../../ledger/index.ts";
import type { TokenCount } from "../limits/limit-store.ts";
import type {
  AnswerBridge,
  CallRequest,
  Modality,
  Output,
  UpstreamRequest,
} from "../../formats/index.ts";

/** A candidate with the request encoded for it. */
export interface Step {
  readonly deployment: Deployment;
  readonly upstream: UpstreamRequest;
}

/** An attempt whose provider has accepted a job that continues after the answer. */
export interface AcceptedJob {
  readonly bridge: AnswerBridge;
  readonly reserve: ReserveRow;
  readonly deployment: Deployment;
  readonly startedAtMs: number;
}

/** A modality as a call serves it. */
export interface CallKind<R extends CallRequest> extends Modality<R> {
  /**
   * Set for videos, whose attempts stay open after the answer: stores the job and returns the
   * client's body. If it refuses, the attempt is closed and nothing is owed.
   */
  readonly accept?: (job: AcceptedJob) => Promise<Result<{ readonly body: Output }>>;
}

/** The estimated tokens by which the token windows are claimed. */
export interface CallTokens extends TokenCount {
  /**
   * Estimated prompt tokens minus the bytes of the body. Not 0 for media, and for a state that is
   * read once per question. Absent counts as 0.
   */
  readonly besideBytes?: number;
  /** True if the client cannot bound its output with `max_tokens`. */
  readonly isOutputFixed?: boolean;
}
