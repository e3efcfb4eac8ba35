import {
  defined,
  refusal,
  type Refusal,
  type RefusalClass,
  type RefusalDetail,
  refusalGround,
  refusalTimes,
} from "../../../kernel/index.ts";

/** Why a request failed before the status line of an answer arrived. */
export type ConnectionFault = "refused" | "dns" | "tls" | "reset" | "timeout";

/** `detail` is for the client's refusal; `outcome` is what the failure means for the call. */
export function upstreamFailure(
  cls: RefusalClass,
  message: string,
  detail: RefusalDetail,
  outcome: Omit<UpstreamFailure, "refusal">,
): UpstreamFailure {
  return { refusal: refusal(cls, message, { origin: "upstream", ...detail }), ...outcome };
}

/** The provider is at fault. */
export const STRUCK = { failover: true, strike: "strike" } as const;
/** Another provider may serve the request, and this provider is healthy. */
export const PASSED_ON = { failover: true, strike: "neutral" } as const;
export const FINAL = { failover: false, strike: "neutral" } as const;

export function connectionFailure(fault: ConnectionFault): UpstreamFailure {
  if (fault === "timeout") return timeoutFailure();
  const message = "no provider of this model could be reached; try again in about two seconds";
  return upstreamFailure("model_unavailable", message, { status: 502, retryable: true }, STRUCK);
}

/** The provider exceeded the gateway's time limit, or answered 408. */
export function timeoutFailure(upstreamStatus?: number): UpstreamFailure {
  const message = "the provider did not answer in time; try again, or ask for fewer tokens";
  const detail = { status: 504, ...defined({ upstreamStatus }) };
  return upstreamFailure("upstream_error", message, detail, { ...STRUCK, strike: "timeout" });
}

/** An incomplete 2xx: its connection died, its end mark is missing, or the gateway cut it. */
export function brokenOffFailure(upstreamStatus = 200): UpstreamFailure {
  const message = "the provider's answer ended before it was complete; try again";
  const detail = { status: 502, upstreamStatus };
  return upstreamFailure("upstream_error", message, detail, { ...STRUCK, isMalformed: true });
}

/** There is no failover, because the provider may have done the work of this unusable 2xx. */
export function unusableFailure(upstreamStatus = 200): UpstreamFailure {
  const message = "the provider's answer could not be read; try again or choose another model";
  const outcome = { failover: false, strike: "strike", isMalformed: true } as const;
  return upstreamFailure("gateway_error", message, { status: 502, upstreamStatus }, outcome);
}

/** Removes `isMalformed`, because the client or its request may have caused the failure. */
export function withoutBlame({
  isMalformed: _isMalformed,
  ...failure
}: UpstreamFailure): UpstreamFailure {
  return failure;
}

/** An unusable answer that the client's request may have caused, so the provider is not blamed. */
export function unblamedFailure(): UpstreamFailure {
  return { ...withoutBlame(unusableFailure()), strike: "neutral" };
}

export interface UpstreamFailure {
  readonly refusal: Refusal;
  /** True if another deployment may be tried while the client has no output. */
  readonly failover: boolean;
  /** How the failed attempt counts against the deployment's circuit. */
  readonly strike: "strike" | "timeout" | "neutral";
  /** Why the connection failed, as a kind and an error code, for the program's log only. */
  readonly reason?: string;
  /** Set if the answer cannot be read or ended too early, which is a breach of the listing. */
  readonly isMalformed?: true;
  /** Set if the gateway ended the attempt, or could not store its job: no request is at fault. */
  readonly isByGateway?: true;
  /** Set for a rate limit: for how many seconds the deployment's pool is in cooldown. */
  readonly coolSeconds?: number;
}

export type ReadAnswer<T extends object> = ({ readonly ok: true } & T) | FailedRead;

export interface FailedRead {
  readonly ok: false;
  readonly failure: UpstreamFailure;
}

export function hasError(error: unknown): boolean {
  return error !== undefined && error !== null && error !== false;
}

export function failedRead(failure: UpstreamFailure): FailedRead {
  return { ok: false, failure };
}

export interface FailedAnswer {
  readonly status: number;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The first bytes of the body, at most `ERROR_BODY_BYTES_MAX`. */
  readonly body: Buffer;
}

/** The `metadata` of an error, equal on all wires (specification, "Body shape"). */
export function errorMetadata(answered: Refusal): Record<string, string | boolean> {
  return {
    ...refusalGround(answered),
    retryable: answered.retryable,
    ...refusalTimes(answered),
  };
}

/**
 * The message of an error. For a context overflow it always contains `wording`, or at least its
 * part `sign`, by which the clients of a wire know that they must shorten their history.
 */
export function messageWith(answered: Refusal, wording: string, sign = wording): string {
  const isMissing = answered.class === "context_overflow" && !answered.message.includes(sign);
  return isMissing ? `${answered.message} (${wording})` : answered.message;
}
