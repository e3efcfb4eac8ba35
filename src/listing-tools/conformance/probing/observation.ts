import type { ServedModel, Usage } from "../../../kernel/index.ts";
import type { UpstreamFailure, Wire } from "../../../formats/index.ts";

/** A recorded answer to a probe. */
export interface Observation {
  /** Name of the probe. */
  readonly probe: string;
  /** True if a customer could have sent the probe. */
  readonly isPlain: boolean;
  /** The client's wire; undefined for other modalities. */
  readonly wire: Wire | undefined;
  readonly stream: boolean;
  /** Output bound of a chat answer; undefined if there is none. */
  readonly bound: number | undefined;
  /** Bytes of the client's request; undefined if it has a file or other alphabets. */
  readonly plainBytes: number | undefined;
  readonly status: number | null;
  /** The provider's headers, by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The provider's body as it came, cut at `BODY_KEPT_BYTES_MAX`. */
  readonly body: Buffer;
  /** Number of pieces in which the body arrived. */
  readonly pieces: number;
  /** The failure that the gateway's own reader finds; undefined for a usable answer. */
  readonly failure: UpstreamFailure | undefined;
  readonly timedOut: boolean;
  /** The connection broke during the answer. */
  readonly wasReset: boolean;
  /** The usage of a usable answer, as settlement would read it. */
  readonly usage: Usage | undefined;
  /** Why the token counts cannot be right; undefined if they can. */
  readonly usageFlaw: string | undefined;
  /** The finish reason is missing, or names a tool call that is absent. */
  readonly hasWrongFinish: boolean;
  readonly servedModel: ServedModel | undefined;
  /** The client's body as UTF-8 text, cut at the same bound. */
  readonly output: string;
  readonly firstByteMs: number | null;
  /** Number of dispatches; connection errors and 429 are retried. */
  readonly tries: number;
}

/** Thrown if a probe has no observation; its check becomes `skip` or `error`. */
export class ProbeNotSent extends Error {
  override readonly name = "ProbeNotSent";
  readonly status: "skip" | "error";

  constructor(status: "skip" | "error", message: string) {
    super(message);
    this.status = status;
  }
}

/** The gateway's error message for this answer; empty if the answer is usable. */
export function describeFailure({ failure }: Observation): string {
  return failure?.refusal.message ?? "";
}

/** True if the gateway's own reader accepted the answer as complete. */
export function isServed(observation: Observation): boolean {
  return observation.failure === undefined;
}
