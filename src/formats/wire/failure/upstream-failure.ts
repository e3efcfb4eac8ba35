import type { Refusal } from "../../../kernel/index.ts";

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
