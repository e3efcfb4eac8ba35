import type { Deployment } from "../catalog/catalog.ts";
import type { Refusal } from "../core/refusals.ts";
import type { RoutePlan } from "../routing/plan-route.ts";
import type { UpstreamRequest } from "../wire/upstream-request.ts";
import { isRefusal, type CallKind, type CallRequest, type Step } from "./call-kind.ts";

/** The candidates of a call that are still to be tried, each encoded when its turn comes. */
export interface CallSteps {
  /** Can another one be tried? The next one is encoded by that. */
  hasNext(): boolean;
  /** The next one; undefined when there is none left. */
  next(): Step | undefined;
  /** Why the first candidate that could not be encoded could not be. */
  readonly unencoded: Refusal | undefined;
}

/** Encodes candidate after candidate, as they are needed; content that cannot cross is skipped. */
export function callSteps<R extends CallRequest>(
  plan: RoutePlan,
  request: R,
  kind: CallKind<R>,
): CallSteps {
  return new EncodedSteps(plan, (deployment) => kind.encode(request, deployment));
}

class EncodedSteps implements CallSteps {
  unencoded: Refusal | undefined;
  readonly #candidates: Iterator<Deployment>;
  readonly #encode: (deployment: Deployment) => UpstreamRequest | Refusal;
  #ready: Step | undefined;

  constructor(plan: RoutePlan, encode: (deployment: Deployment) => UpstreamRequest | Refusal) {
    this.#candidates = candidatesOf(plan);
    this.#encode = encode;
  }

  hasNext(): boolean {
    this.#ready ??= this.#encoded();
    return this.#ready !== undefined;
  }

  next(): Step | undefined {
    const step = this.#ready ?? this.#encoded();
    this.#ready = undefined;
    return step;
  }

  #encoded(): Step | undefined {
    for (;;) {
      const candidate = this.#candidates.next();
      if (candidate.done === true) return undefined;
      const deployment = candidate.value;
      const upstream = this.#encode(deployment);
      if (!isRefusal(upstream)) return { deployment, upstream };
      this.unencoded ??= upstream;
    }
  }
}

function* candidatesOf(plan: RoutePlan): Generator<Deployment> {
  yield plan.first;
  yield* plan.others();
}
