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

export interface Step {
  readonly deployment: Deployment;
  readonly upstream: UpstreamRequest;
}

/** A provider's job, such as a video, that continues after the client has its answer. */
export interface AcceptedJob {
  readonly bridge: AnswerBridge;
  readonly reserve: ReserveRow;
  readonly deployment: Deployment;
  readonly startedAtMs: number;
}

export interface CallKind<R extends CallRequest> extends Modality<R> {
  /**
   * Set for videos only: stores the accepted job, whose attempt stays open, and returns the body of
   * the client's answer. If it refuses the job, the attempt is closed and nothing is owed.
   */
  readonly accept?: (job: AcceptedJob) => Promise<Result<{ readonly body: Output }>>;
}

/** The estimated tokens that a call claims in its token windows. */
export interface CallTokens extends TokenCount {
  /**
   * Estimated prompt tokens minus the bytes of the request body; default 0. A refusal uses this to
   * name the largest body that fits. Not 0 for requests with media, nor for decisions whose
   * provider bills the request's `state` again for each question.
   */
  readonly besideBytes?: number;
  /** True for modalities without `max_tokens`, whose clients cannot bound the output. */
  readonly isOutputFixed?: boolean;
}
