import {
  defined,
  refusal,
  type Refusal,
  refusalGround,
  refusalTimes,
} from "../../../kernel/index.ts";

/** A connection fault before the status line arrived. */
export type ConnectionFault = "refused" | "dns" | "tls" | "reset" | "timeout";

/** The failure of a connection that gave no answer. */
export function connectionFailure(fault: ConnectionFault): UpstreamFailure {
  if (fault === "timeout") return timeoutFailure();
  const message = "no provider of this model could be reached; try again in about two seconds";
  return {
    refusal: refusal("model_unavailable", message, {
      status: 502,
      origin: "upstream",
      retryable: true,
    }),
    failover: true,
    strike: "strike",
  };
}

/** The provider was too slow: our time limit, or its own 408. */
export function timeoutFailure(upstreamStatus?: number): UpstreamFailure {
  const message = "the provider did not answer in time; try again, or ask for fewer tokens";
  return {
    refusal: refusal("upstream_error", message, {
      status: 504,
      origin: "upstream",
      ...defined({ upstreamStatus }),
    }),
    failover: true,
    strike: "timeout",
  };
}

/** A 2xx whose body broke off: the connection died, or a stream ended without its end mark. */
export function brokenOffFailure(upstreamStatus = 200): UpstreamFailure {
  const message = "the provider's answer ended before it was complete; try again";
  return {
    refusal: refusal("upstream_error", message, {
      status: 502,
      origin: "upstream",
      upstreamStatus,
    }),
    failover: true,
    strike: "strike",
    isMalformed: true,
  };
}

/** A 2xx that cannot be represented. Not failed over: the provider may have done the work. */
export function unusableFailure(upstreamStatus = 200): UpstreamFailure {
  const message = "the provider's answer could not be read; try again or choose another model";
  return {
    refusal: refusal("gateway_error", message, { status: 502, origin: "upstream", upstreamStatus }),
    failover: false,
    strike: "strike",
    isMalformed: true,
  };
}

/**
 * The same failure without blame for the listing, because the client's request may have caused it.
 */
export function withoutBlame({
  isMalformed: _isMalformed,
  ...failure
}: UpstreamFailure): UpstreamFailure {
  return failure;
}

/** How a failed attempt counts against the deployment's health circuit. */
export type StrikeKind = "strike" | "timeout" | "neutral";

/** A classified failure of one attempt. */
export interface UpstreamFailure {
  /** The refusal that the caller sees when no other deployment can serve. */
  readonly refusal: Refusal;
  /** True if another deployment may be tried while no output has reached the client. */
  readonly failover: boolean;
  readonly strike: StrikeKind;
  /** Why the connection failed, only for the log: a kind and a code, without an address. */
  readonly reason?: string;
  /** The answer itself breaks its format: it cannot be read, or it ended before its end mark. */
  readonly isMalformed?: true;
  /** A provider's 429: its pool cools for this many seconds. */
  readonly coolSeconds?: number;
}

/** A provider's answer as read, or the failure when it cannot be used. */
export type ReadAnswer<T extends object> = ({ readonly ok: true } & T) | FailedRead;

export interface FailedRead {
  readonly ok: false;
  readonly failure: UpstreamFailure;
}

export function failedRead(failure: UpstreamFailure): FailedRead {
  return { ok: false, failure };
}

/** An answer of a provider that is not a usable 2xx, ready to be classified. */
export interface FailedAnswer {
  readonly status: number;
  /** Lower-case name to value. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** At most `ERROR_BODY_BYTES_MAX` bytes of the body. */
  readonly body: Buffer;
}

/** The metadata of a refusal in the error body of every wire (specification, "Body shape"). */
export function errorMetadata(answered: Refusal): Record<string, string | boolean> {
  return {
    ...refusalGround(answered),
    retryable: answered.retryable,
    ...refusalTimes(answered),
  };
}

/** The wording by which clients of a wire recognize a request that is too long for its model. */
export interface OverflowWording {
  readonly sign: RegExp;
  readonly wording: string;
}

/**
 * The message of a refusal, in an error body and in a stream's last event. A context overflow
 * always contains the wording, because clients shorten their history when they find it.
 */
export function messageWith({ sign, wording }: OverflowWording, answered: Refusal): string {
  const isMissing = answered.class === "context_overflow" && !sign.test(answered.message);
  return isMissing ? `${answered.message} (${wording})` : answered.message;
}
