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
import type { ScopeClaim } from "../limits/limit-store.ts";
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
  /** The caller's limits that the request occupies a slot of. */
  readonly scopes: readonly ScopeClaim[];
}

/** Dispatches one step and ties it to its client: output, slowness, departure. */
export function startAttempt<R extends CallRequest>(
  deps: ServeDeps,
  exchange: ClientExchange,
  start: AttemptStart<R>,
): RunningAttempt {
  const { kind, request, step, delivery, reserve } = start;
  const { attemptId, reserveMicroUsd } = reserve;
  const timeouts = timeoutsOf(kind, request, deps.timeouts);
  const running = runAttempt({
    clock: deps.clock,
    deadlines: deps.deadlines,
    timeouts,
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
  const { scopes } = start;
  followClient(deps, exchange, { running, delivery, scopes, drainMs: timeouts.drainMs });
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
  tied: {
    readonly running: RunningAttempt;
    readonly delivery: Delivery;
    readonly scopes: readonly ScopeClaim[];
    readonly drainMs: number;
  },
): void {
  const { running, delivery, scopes, drainMs } = tied;
  exchange.onWritable(() => {
    delivery.becameWritable();
    running.resume();
  });
  exchange.onGone(() => {
    const { orgId } = exchange.principal;
    const departed = { orgId, scopes, endsAtMs: deps.clock.monotonicMs() + drainMs };
    if (!deps.drains.enter(departed)) {
      running.abandon();
      return;
    }
    running.detach();
    void running.ended.then(() => deps.drains.leave(departed));
  });
}
