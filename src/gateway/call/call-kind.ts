import type { Deployment, ListedModel } from "../../catalog/index.ts";
import type { Result } from "../../kernel/index.ts";
import type { ReserveRow } from "../../ledger/index.ts";
import { tokenCount, type TokenCount } from "../limits/limit-store.ts";
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
   * Where the attempt stays open after the answer (videos): makes the job durable and gives the
   * client's body. A refusal closes the attempt, and nothing is owed.
   */
  accept?(job: AcceptedJob): Promise<Result<{ readonly body: Output }>>;
}

/** The estimate that the token windows are claimed by. */
export interface CallTokens extends TokenCount {
  /**
   * Prompt tokens that stand for no byte of the body: for its media, or a state that is read for
   * each question; below zero where they are fewer than the bytes of the media. Absent: none.
   */
  readonly besideBytes?: number;
  /** The client cannot bound its output: there is no `max_tokens` to speak of. */
  readonly isOutputFixed?: boolean;
}

export function callTokens<R extends CallRequest>(
  kind: CallKind<R>,
  request: R,
  of: { readonly model: ListedModel | undefined; readonly body: Buffer },
): CallTokens {
  const input =
    kind.inputTokens?.(request, of.model?.deployments ?? []) ?? request.estimatedInputTokens;
  return {
    ...tokenCount(input, request.outputTokens),
    besideBytes: input - of.body.length,
    isOutputFixed: kind.modality !== "text",
  };
}
