import { isUtf8 } from "node:buffer";

import type { Deployment } from "../../catalog/catalog.ts";
import type { AnswerBridge, BridgeState } from "../../wire/answer/answer-bridge.ts";
import { isFailure } from "../../wire/neutral/chat-answer.ts";
import type { UpstreamFailure } from "../../wire/failure/upstream-failure.ts";
import { classifyEmbeddedError, contentRefused } from "../../wire/failure/classify-failure.ts";
import { contentPolicyWording } from "../../wire/failure/content-policy-wording.ts";
import { wordsOf } from "../../wire/failure/failure-words.ts";
import { unusableFailure } from "../../wire/failure/failures.ts";
import { speaksOf } from "../../wire/failure/wording.ts";
import { parseRecord, readJobRecord } from "./read-job.ts";
import type { ProviderJob, VideoAcceptBridge, VideoRequest } from "./video-wire.ts";
import { secondsOf } from "./why-unservable.ts";

/** A record is small; more is none. */
const RECORD_BYTES_MAX = 1_048_576;

/**
 * Reads the answer of a provider that accepts a job. Nothing of it goes to the client, which gets
 * of the gateway's own job.
 */
export class AcceptBridge implements VideoAcceptBridge {
  readonly contentType: string = "application/json";
  readonly usage: undefined;
  readonly reportedCostUsd: undefined;
  /** The record of the finished job has it, not that of the accepted one. */
  readonly servedModel: undefined;
  readonly seconds: number;
  readonly options: VideoRequest["options"];
  job: ProviderJob | undefined;
  failure: UpstreamFailure | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(request: VideoRequest, deployment: Deployment) {
    this.seconds = secondsOf(request, deployment);
    this.options = request.options;
  }

  get state(): BridgeState {
    if (this.failure !== undefined) return "failed";
    return this.job === undefined ? "waiting" : "complete";
  }

  push(bytes: Buffer): void {
    if (this.state !== "waiting") return;
    this.#bytes += bytes.length;
    this.#pieces.push(bytes);
    if (this.#bytes > RECORD_BYTES_MAX) this.#conclude(unusableFailure());
  }

  end(): void {
    if (this.state === "waiting") this.#conclude(readAccepted(Buffer.concat(this.#pieces)));
  }

  takeOutput(): undefined {
    return undefined;
  }

  finish(): string {
    return "";
  }

  fail(): string {
    return "";
  }

  keepAlive(): undefined {
    return undefined;
  }

  #conclude(result: ProviderJob | UpstreamFailure): void {
    this.#pieces = [];
    if (isFailure(result)) this.failure = result;
    else this.job = result;
  }
}

/** Is this the bridge of an accept call? */
export function isVideoAccept(bridge: AnswerBridge): bridge is VideoAcceptBridge {
  return bridge instanceof AcceptBridge;
}

/** A job that failed or was refused while it was accepted is none: another provider may do it. */
function readAccepted(body: Buffer): ProviderJob | UpstreamFailure {
  const record = isUtf8(body) ? parseRecord(body) : undefined;
  if (record === undefined) return unusableFailure();
  const { error } = record.value;
  const job = readJobRecord(record);
  const hasFailed =
    job === undefined || job.state === "unknown"
      ? typeof error === "object" && error !== null
      : REFUSED_STATES.has(job.state);
  if (hasFailed) return classifyRefusedJob(record.value, job);
  // Without an id it could never be asked after; whether the provider works on it is unknown.
  return job?.id === undefined ? unusableFailure() : job;
}

const REFUSED_STATES: ReadonlySet<ProviderJob["state"]> = new Set([
  "failed",
  "refused",
  "cancelled",
  "expired",
]);

function classifyRefusedJob(
  body: Readonly<Record<string, unknown>>,
  job: ProviderJob | undefined,
): UpstreamFailure {
  const words = wordsOf(body);
  const isContent =
    job?.state === "refused" || words.flagged || speaksOf(words, contentPolicyWording);
  if (!isContent) return classifyEmbeddedError(body);
  return contentRefused({ status: 400, upstreamStatus: 200, words, waitSeconds: undefined });
}
