import { setTimeout as sleep } from "node:timers/promises";

import { type Deployment, exactCost } from "../../../catalog/index.ts";
import {
  ceilToMicroUsd,
  type Clock,
  type Deadlines,
  type MicroUsd,
  createRequestId,
  parseUsdToPico,
  ZERO_MICRO_USD,
  asNumber,
} from "../../../kernel/index.ts";
import {
  type AttemptClassifier,
  type AttemptResult,
  runAttempt,
  streamBytesMax,
  type UpstreamClient,
} from "../../../upstream/index.ts";
import {
  chatOn,
  decisions,
  images,
  videos,
  type CallRequest,
  type Modality,
  type UpstreamRequest,
  wires,
} from "../../../formats/index.ts";
import { AnswerRecorder, IMAGE_BODY_KEPT_BYTES_MAX } from "./answer-recorder.ts";
import { type Observation, ProbeNotSent } from "./observation.ts";
import { isPlain, type Probe } from "./lab.ts";
import type { Spending } from "./spending.ts";

export interface ProbeDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly classify: AttemptClassifier;
  readonly upstream: Pick<UpstreamClient, "send">;
  readonly upstreamWithWrongKey: Pick<UpstreamClient, "send">;
  readonly spending: Spending;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Maximum number of times that a probe is sent. Connection errors and 429 are retried. */
const TRIES_MAX = 3;
const RETRY_WAIT_MS = 500;
/** Maximum wait before a retry, even if the provider asks for a longer one. */
const RETRY_WAIT_MS_MAX = 10_000;
const UNKNOWN_MODEL = "unknown-model-of-a-conformance-run";

/** Sends a probe like a customer's call. Rejects (`ProbeNotSent`) if no answer can be judged. */
export async function sendProbe(
  deps: ProbeDeps,
  deployment: Deployment,
  probe: Probe,
): Promise<Observation> {
  const ready = PREPARED[deployment.modality](deployment, probe);
  for (let tries = 1; ; tries += 1) {
    if (deps.signal.aborted) throw new ProbeNotSent("skip", "the run was ended");
    const observation = await sendOnce(deps, ready, tries);
    const { status, failure } = observation;
    const mayRetry = failure !== undefined && (status === null || status === 429);
    if (!mayRetry || observation.timedOut) return observation;
    if (tries === TRIES_MAX) throw new ProbeNotSent("error", unanswered(observation));
    const askedMs = (failure.refusal.retryAfterSeconds ?? 0) * 1000;
    const waitMs = Math.min(RETRY_WAIT_MS_MAX, Math.max(askedMs, RETRY_WAIT_MS * tries));
    await sleep(waitMs, undefined, { signal: deps.signal }).catch(() => undefined);
  }
}

function unanswered({ status, tries, failure }: Observation): string {
  if (status === 429) return `429 Too Many Requests, ${tries} times`;
  return `no answer in ${tries} tries: ${failure?.refusal.message ?? "the connection broke"}`;
}

interface Prepared {
  readonly deployment: Deployment;
  readonly probe: Probe;
  readonly worstMicroUsd: MicroUsd;
  readonly dispatch: (deps: ProbeDeps, recorder: AnswerRecorder) => Promise<AttemptResult>;
  readonly stream: boolean;
}

type Prepare = (deployment: Deployment, probe: Probe) => Prepared;

const PREPARED: Readonly<Record<Deployment["modality"], Prepare>> = {
  text: (deployment, probe) => {
    const wire = probe.wire ?? wires.get(deployment.wire);
    return prepareFor(chatOn(wire, wires), deployment, probe);
  },
  image: (deployment, probe) => prepareFor(images, deployment, probe),
  video: (deployment, probe) => prepareFor(videos, deployment, probe),
  decisions: (deployment, probe) => prepareFor(decisions, deployment, probe),
};

function prepareFor<R extends CallRequest>(
  kind: Modality<R>,
  deployment: Deployment,
  probe: Probe,
): Prepared {
  if (deployment.prices === null) {
    const why = "the listing has no prices, so nothing bounds what a probe costs";
    throw new ProbeNotSent("skip", why);
  }
  const body = Buffer.from(JSON.stringify({ model: deployment.modelId, ...probe.body }));
  const read = kind.read({
    body,
    header: (name) => (name === "content-type" ? "application/json" : undefined),
  });
  if (!read.ok) throw new ProbeNotSent("error", read.refusal.message);
  const { request } = read;
  const target =
    probe.as === "unknown_model" ? { ...deployment, upstreamModelId: UNKNOWN_MODEL } : deployment;
  const problem = kind.servabilityProblem(request, target);
  if (problem !== undefined && problem.isPreference !== true) {
    throw new ProbeNotSent("skip", problem.message);
  }
  const encoded = kind.encode(request, target);
  if (!encoded.ok) throw new ProbeNotSent("skip", encoded.refusal.message);
  const worstMicroUsd = kind.quote(request, target);
  const upstream = changeUpstream(encoded.upstream, probe);
  const dispatch: Prepared["dispatch"] = (deps, recorder) => {
    const { clock, classify, timeoutMs: totalMs } = deps;
    const own = kind.classify;
    const sender = probe.as === "wrong_key" ? deps.upstreamWithWrongKey : deps.upstream;
    const running = runAttempt({
      clock,
      deadlines: deps.deadlines,
      timeouts: { headersMs: totalMs, idleMs: totalMs, totalMs, drainMs: totalMs },
      stream: request.stream,
      streamBytesMax: streamBytesMax(request),
      sink: recorder,
      commitDueMs: Number.POSITIVE_INFINITY,
      openBridge: () =>
        kind.openAnswer(request, target, {
          requestId: createRequestId(clock.nowMs()),
          createdSeconds: Math.floor(clock.nowMs() / 1000),
          reserveMicroUsd: worstMicroUsd,
        }),
      classify:
        own === undefined
          ? classify
          : { ...classify, answer: (answer) => own(answer, target, clock.nowMs()) },
      send: (handler) => sender.send(target, upstream, recorder.listening(handler)),
    });
    const abandon = (): void => running.abandon();
    deps.signal.addEventListener("abort", abandon, { once: true });
    return running.ended.finally(() => deps.signal.removeEventListener("abort", abandon));
  };
  return { deployment: target, probe, worstMicroUsd, dispatch, stream: request.stream };
}

/** How long a provider may take to close an answer after its end mark. */
const TRAILING_MS = 2_500;

function changeUpstream(upstream: UpstreamRequest, { changeBody }: Probe): UpstreamRequest {
  if (changeBody === undefined) return upstream;
  const { body } = upstream;
  return { ...upstream, body: changeBody(Buffer.isBuffer(body) ? body : body.toBuffer()) };
}

async function sendOnce(deps: ProbeDeps, ready: Prepared, tries: number): Promise<Observation> {
  const { spending } = deps;
  if (!spending.hold(ready.worstMicroUsd)) {
    throw new ProbeNotSent("skip", "over the budget of the run");
  }
  let costMicroUsd: MicroUsd = ready.worstMicroUsd;
  try {
    const isImage = ready.deployment.modality === "image";
    const keptBytesMax = isImage ? IMAGE_BODY_KEPT_BYTES_MAX : undefined;
    const recorder = new AnswerRecorder(keptBytesMax);
    const result = await ready.dispatch(deps, recorder);
    // Also records what the provider sends after the end mark, which customers never see.
    if (result.upstreamStatus !== null) await recorder.closed(TRAILING_MS);
    costMicroUsd = computeCost(ready, result);
    return toObservation(ready, result, recorder, tries);
  } finally {
    spending.settle(ready.worstMicroUsd, costMicroUsd);
  }
}

/** Begins the reason of a failure before the request was sent. */
const NOT_SENT = /^(refused|dns|tls)\b/;

/**
 * A 2xx without usage or, if that decides, without a cost, counts as the worst-case cost, and so
 * does a request that was sent and got no answer: the provider may bill it.
 */
function computeCost({ deployment, worstMicroUsd }: Prepared, result: AttemptResult): MicroUsd {
  const { upstreamStatus, bridge, failure } = result;
  if (upstreamStatus === null) {
    return NOT_SENT.test(failure?.reason ?? "") ? ZERO_MICRO_USD : worstMicroUsd;
  }
  if (upstreamStatus >= 300) return ZERO_MICRO_USD;
  if (deployment.billing === "reported_cost") {
    const reported = parseUsdToPico(bridge?.reportedCostUsd ?? "");
    return reported === undefined ? worstMicroUsd : ceilToMicroUsd(reported);
  }
  const { usage } = bridge ?? {};
  if (usage === undefined || deployment.prices === null) return worstMicroUsd;
  return ceilToMicroUsd(exactCost(deployment.prices, usage));
}

const PLAIN = /^[ -~]*$/;

function plainBytesOf({ body }: Probe): number | undefined {
  const text = JSON.stringify(body);
  return PLAIN.test(text) && !text.includes("base64") ? text.length : undefined;
}

function toObservation(
  { probe, deployment, stream }: Prepared,
  result: AttemptResult,
  recorder: AnswerRecorder,
  tries: number,
): Observation {
  const { bridge, failure } = result;
  if (bridge !== undefined && failure === undefined) recorder.takeLast(bridge.finish("0"));
  return {
    probe: probe.name,
    isPlain: isPlain(probe),
    wire: deployment.modality === "text" ? (probe.wire ?? wires.get(deployment.wire)) : undefined,
    stream,
    bound: asNumber(probe.body["max_tokens"]),
    plainBytes: plainBytesOf(probe),
    status: result.upstreamStatus,
    headers: recorder.headers,
    body: recorder.body(),
    pieces: recorder.pieces,
    failure,
    timedOut: result.timedOut,
    wasReset: recorder.wasReset,
    usage: bridge?.usage,
    usageFlaw: bridge?.usageFlaw,
    hasWrongFinish: bridge?.hasWrongFinish === true,
    servedModel: bridge?.servedModel,
    output: recorder.output(),
    firstByteMs: result.firstByteMs,
    tries,
  };
}
