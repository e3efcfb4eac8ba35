import type { CallFamily } from "../accounts/index.ts";
import type { Deployment, ListedModel, ModalityId } from "../catalog/index.ts";
import type { Result } from "../core/index.ts";
import type { ReserveRow } from "../ledger/index.ts";
import { tokenCount, type TokenCount } from "../limits/index.ts";
import type {
  AnswerBridge,
  CallRequest,
  Modality,
  Output,
  UpstreamRequest,
} from "../wire/index.ts";

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

const FAMILIES: Readonly<Record<ModalityId, CallFamily>> = {
  text: "chat",
  image: "images",
  video: "videos",
  decisions: "decisions",
};

/** What unusual use is detected by. */
export function familyOf({ modality }: { readonly modality: ModalityId }): CallFamily {
  return FAMILIES[modality];
}

/** The estimate that the token windows are claimed by. */
export function callTokens<R extends CallRequest>(
  kind: CallKind<R>,
  request: R,
  model: ListedModel | undefined,
): TokenCount {
  const input =
    kind.inputTokens?.(request, model?.deployments ?? []) ?? request.estimatedInputTokens;
  return tokenCount(input, request.outputTokens);
}
