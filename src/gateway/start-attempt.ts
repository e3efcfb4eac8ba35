import type { Deployment } from "../catalog/catalog.ts";
import { sseLineBytesMax } from "../core/constants.ts";
import { ownKeyClassifier } from "../dispatch/own-key-classifier.ts";
import {
  runAttempt,
  type AttemptClassifier,
  type AttemptTimeouts,
  type RunningAttempt,
} from "../dispatch/run-attempt.ts";
import type { ReserveRow } from "../ledger/ledger-store.ts";
import type { CallKind, CallRequest, Step } from "./call-kind.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { Delivery } from "./delivery.ts";
import type { CallTimeouts, ServeDeps } from "./serve-deps.ts";

/** A stream may spend this many bytes of framing and text for each token of its output bound. */
const STREAM_BYTES_PER_TOKEN = 2_048;
/** More than a line may have, so that a line that is too long is told as that. */
const STREAM_BYTES_FREE = 2 * sseLineBytesMax;

export interface AttemptStart<R extends CallRequest> {
  readonly kind: CallKind<R>;
  readonly request: R;
  readonly step: Step;
  readonly delivery: Delivery;
  /** The attempt's row in the journal. */
  readonly reserve: ReserveRow;
}

/** Dispatches one step and ties it to its client: output, slowness, departure. */
export function startAttempt<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  start: AttemptStart<R>,
): RunningAttempt {
  const { kind, request, step, delivery, reserve } = start;
  const { attemptId, reserveMicroUsd } = reserve;
  const running = runAttempt({
    clock: deps.clock,
    deadlines: deps.deadlines,
    timeouts: timeoutsOf(kind, request, deps.timeouts),
    stream: request.stream,
    streamBytesMax: STREAM_BYTES_FREE + request.outputTokens * STREAM_BYTES_PER_TOKEN,
    sink: delivery,
    commitDueMs: delivery.commitDueMs,
    openBridge: () =>
      delivery.carry(
        kind.openAnswer(request, step.deployment, {
          requestId: exchange.requestId,
          createdSeconds: Math.floor(deps.clock.nowMs() / 1000),
          reserveMicroUsd,
        }),
      ),
    classify: classifierOf(kind, deps.classify, step.deployment),
    send: (handler) => deps.upstream.send(step.deployment, step.upstream, handler, attemptId),
  });
  followClient(deps, exchange, { running, delivery });
  return running;
}

function timeoutsOf<R extends CallRequest>(
  kind: CallKind<R>,
  request: R,
  timeouts: CallTimeouts,
): AttemptTimeouts {
  if (kind.timeouts !== undefined) return kind.timeouts(timeouts);
  return request.stream ? timeouts.stream : timeouts.whole;
}

function classifierOf<R extends CallRequest>(
  kind: CallKind<R>,
  base: AttemptClassifier,
  deployment: Deployment,
): AttemptClassifier {
  return ownKeyClassifier(kind.classifier?.(base, deployment) ?? base, deployment);
}

function followClient(
  deps: ServeDeps,
  exchange: ClientExchange,
  tied: { readonly running: RunningAttempt; readonly delivery: Delivery },
): void {
  const { running, delivery } = tied;
  exchange.onWritable(() => {
    delivery.becameWritable();
    running.resume();
  });
  exchange.onGone(() => {
    if (!deps.drains.enter()) {
      running.abandon();
      return;
    }
    running.detach();
    void running.ended.then(() => deps.drains.leave());
  });
}
