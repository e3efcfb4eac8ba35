import { sseLineBytesMax } from "../core/constants.ts";
import { ownKeyClassifier } from "../dispatch/own-key-classifier.ts";
import { runAttempt, type RunningAttempt } from "../dispatch/run-attempt.ts";
import type { AttemptId } from "../core/ids.ts";
import type { CallKind, CallRequest, Step } from "./call-kind.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { Delivery } from "./delivery.ts";
import type { ServeDeps } from "./serve-deps.ts";

/** A stream may spend this many bytes of framing and text for each token of its output bound. */
const STREAM_BYTES_PER_TOKEN = 2_048;
/** More than a line may have, so that a line that is too long is told as that. */
const STREAM_BYTES_FREE = 2 * sseLineBytesMax;

export interface AttemptStart<R extends CallRequest> {
  readonly kind: CallKind<R>;
  readonly request: R;
  readonly step: Step;
  readonly delivery: Delivery;
  readonly attemptId: AttemptId;
}

/** Dispatches one step and ties it to its client: output, slowness, departure. */
export function startAttempt<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  start: AttemptStart<R>,
): RunningAttempt {
  const { kind, request, step, delivery, attemptId } = start;
  const running = runAttempt({
    clock: deps.clock,
    deadlines: deps.deadlines,
    timeouts: request.stream ? deps.timeouts.stream : deps.timeouts.whole,
    stream: request.stream,
    streamBytesMax: STREAM_BYTES_FREE + request.outputTokens * STREAM_BYTES_PER_TOKEN,
    sink: delivery,
    openBridge: () =>
      delivery.carry(
        kind.openAnswer(request, step.deployment, {
          requestId: exchange.requestId,
          createdSeconds: Math.floor(deps.clock.nowMs() / 1000),
        }),
      ),
    classify:
      step.deployment.ownKey === undefined ? deps.classify : ownKeyClassifier(deps.classify),
    send: (handler) => deps.upstream.send(step.deployment, step.upstream, handler, attemptId),
  });
  followClient(deps, exchange, { running, delivery });
  return running;
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
