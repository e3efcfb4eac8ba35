import type { ServedModel, Usage } from "../../../kernel/index.ts";
import type { UpstreamFailure, Wire } from "../../../formats/index.ts";

/** Everything that was seen of one answer. */
export interface Observation {
  /** Name of the probe. */
  readonly probe: string;
  /** True if a customer could have sent the probe. */
  readonly isPlain: boolean;
  /** The client's wire; undefined for other modalities. */
  readonly wire: Wire | undefined;
  readonly stream: boolean;
  /** Output tokens that a chat answer may have; undefined: nothing bounds them. */
  readonly bound: number | undefined;
  /** Bytes of the request as a client writes it; undefined: it has a file, or other alphabets. */
  readonly plainBytes: number | undefined;
  readonly status: number | null;
  /** Lower-case name to value, as the provider sent them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The provider's body as it came, cut at `BODY_KEPT_BYTES_MAX`. */
  readonly body: Buffer;
  /** In how many pieces the body arrived. */
  readonly pieces: number;
  /** The failure that the gateway's own reader finds; undefined: a usable answer. */
  readonly failure: UpstreamFailure | undefined;
  readonly timedOut: boolean;
  /** The provider, or the way to it, broke the connection in the answer. */
  readonly wasReset: boolean;
  /** The usage of a usable answer, as settlement would read it. */
  readonly usage: Usage | undefined;
  /** Why its counts cannot be right; undefined if they can. */
  readonly usageFlaw: string | undefined;
  /** Its finish reason is missing, or names a call that is not there. */
  readonly hasWrongFinish: boolean;
  readonly servedModel: ServedModel | undefined;
  /** The client's view of it: UTF-8 text, cut at the same bound. */
  readonly output: string;
  readonly firstByteMs: number | null;
  /** Dispatches that this took: connection errors and 429 are tried again. */
  readonly tries: number;
}

/** Why a probe has no observation: the check that wanted it becomes `skip` or `error`. */
export class ProbeNotSent extends Error {
  override readonly name = "ProbeNotSent";
  readonly status: "skip" | "error";

  constructor(status: "skip" | "error", message: string) {
    super(message);
    this.status = status;
  }
}

/** The answer that the gateway would give its client instead; empty if the answer is usable. */
export function describeFailure({ failure }: Observation): string {
  return failure?.refusal.message ?? "";
}

/** True if the gateway's own reader accepted it as a complete answer. */
export function isServed(observation: Observation): boolean {
  return observation.failure === undefined;
}
