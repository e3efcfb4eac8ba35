import type { Deployment } from "../catalog/index.ts";
import type { MicroUsd, ServedModel } from "../core/index.ts";
import type { AttemptResult } from "../dispatch/index.ts";

/** Plain counters that the hot path adds to; the internal listener turns them into text. */
export class GatewayMetrics {
  /** `route|status|error class` to requests. */
  readonly requests: Map<string, number> = new Map();
  /** `provider|model|outcome` to attempts. */
  readonly attempts: Map<string, number> = new Map();
  /** `provider|model` to complete answers without usage: the listing breaks its promise. */
  readonly usageMissing: Map<string, number> = new Map();
  /** `provider|model` to answers whose reported usage is impossible and was not believed. */
  readonly usageImpossible: Map<string, number> = new Map();
  /** `provider|model` to answers of another model than the listing allows. */
  readonly substituted: Map<string, number> = new Map();
  /** `model` to micro-dollars debited. */
  readonly debitedMicroUsd: Map<string, bigint> = new Map();
  /** Requests between their first byte and their last. */
  inFlight = 0;

  request(route: string, status: number, errorClass: string): void {
    add(this.requests, `${route}|${status}|${errorClass}`);
  }

  attempt(deployment: Deployment, result: AttemptResult): void {
    const listing = `${deployment.providerId}|${deployment.modelId}`;
    const outcome = result.failure === undefined ? "completed" : result.failure.refusal.class;
    add(this.attempts, `${listing}|${outcome}`);
    // A video's cost is known when its job has ended.
    const isDue = deployment.modality !== "video" && result.failure === undefined;
    const silent = isDue && result.bridge?.usage === undefined;
    if (silent) add(this.usageMissing, listing);
    this.served(deployment, result.bridge?.servedModel);
  }

  impossible({ providerId, modelId }: Deployment): void {
    add(this.usageImpossible, `${providerId}|${modelId}`);
  }

  served(
    listing: Pick<Deployment, "providerId" | "modelId">,
    served: ServedModel | undefined,
  ): void {
    if (served?.isSubstituted !== true) return;
    add(this.substituted, `${listing.providerId}|${listing.modelId}`);
  }

  settled(model: string, debit: MicroUsd): void {
    this.debitedMicroUsd.set(model, (this.debitedMicroUsd.get(model) ?? 0n) + debit);
  }
}

/** One more of `key`. */
export function add(counter: Map<string, number>, key: string): void {
  counter.set(key, (counter.get(key) ?? 0) + 1);
}
