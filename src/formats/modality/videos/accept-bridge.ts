import { isUtf8 } from "node:buffer";

import type { Deployment } from "../../../catalog/index.ts";
import { HeldBytes, membersOf } from "../../../kernel/index.ts";
import { type AnswerBridge, BaseBridge } from "../../wire/answer/answer-bridge.ts";
import { classifyEmbeddedError, contentRefused } from "../../wire/failure/classify-failure.ts";
import { contentPolicyWording, matchesWording } from "../../wire/failure/wording.ts";
import {
  failedRead,
  type ReadAnswer,
  type UpstreamFailure,
  unblamedFailure,
  unusableFailure,
} from "../../wire/failure/failures.ts";
import { extractErrorText } from "../../wire/failure/provider-message.ts";
import { type AnswerFacts, decodeBody, parseObject } from "../../wire/neutral/chat-answer.ts";
import type { ParsedVideoRequest } from "./parse-request.ts";
import { type ProviderJob, readJobRecord } from "./read-job.ts";
import { resolveSeconds } from "./servability.ts";

const UNUSABLE = failedRead(unusableFailure());
/** No strike: a record can repeat a long prompt. */
const TOO_LARGE = failedRead(unblamedFailure());

const RECORD_BYTES_MAX = 1_048_576;

/**
 * Reads the provider's answer to a new video job; the client gets a job record of the gateway
 * instead. The cost and the model are read later, from the finished job.
 */
export class AcceptBridge extends BaseBridge implements AnswerBridge {
  readonly seconds: number;
  readonly options: ParsedVideoRequest["options"];
  /** Set exactly if `state` is `complete`; the job then has an `id`. */
  job: ProviderJob | undefined;
  #held = new HeldBytes();

  constructor(request: ParsedVideoRequest, deployment: Deployment) {
    super();
    this.seconds = resolveSeconds(request, deployment);
    this.options = request.options;
  }

  get facts(): AnswerFacts | undefined {
    return this.job && { report: undefined };
  }

  push(bytes: Buffer): void {
    if (this.state !== "waiting") return;
    this.#held.add(bytes);
    if (this.#held.length > RECORD_BYTES_MAX) this.#conclude(TOO_LARGE);
  }

  end(): void {
    if (this.state === "waiting") this.#conclude(readAccepted(this.#held.joined()));
  }

  finish(): string {
    return "";
  }

  fail(): string {
    return "";
  }

  #conclude(read: ReadAnswer<{ readonly job: ProviderJob }>): void {
    this.#held = new HeldBytes();
    if (read.ok) this.job = read.job;
    else this.failure = read.failure;
  }
}

export function isVideoAccept(bridge: AnswerBridge): bridge is AcceptBridge {
  return bridge instanceof AcceptBridge;
}

/**
 * A job that has failed at once is a failed attempt. Its error decides whether another provider may
 * be tried.
 */
function readAccepted(body: Buffer): ReadAnswer<{ readonly job: ProviderJob }> {
  const record = isUtf8(body) ? parseObject(decodeBody(body)) : undefined;
  if (record === undefined) return UNUSABLE;
  const { error } = record.value;
  const job = readJobRecord(record);
  const hasFailed =
    job === undefined || job.state === "unknown"
      ? membersOf(error) !== undefined
      : REFUSED_STATES.has(job.state);
  if (hasFailed) return failedRead(classifyRefusedJob(record.value, job));
  // A job without an id can never be polled, so it is a failure, even if the provider works on it.
  return job?.id === undefined ? UNUSABLE : { ok: true, job };
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
  const errorText = extractErrorText(body);
  const isContent =
    job?.state === "refused" ||
    errorText.flagged ||
    matchesWording(errorText, contentPolicyWording);
  if (!isContent) return classifyEmbeddedError(body);
  return contentRefused({ status: 400, upstreamStatus: 200, errorText });
}
