import type { ServedModel, Usage } from "../../../kernel/index.ts";
import type { UpstreamFailure, Wire } from "../../../formats/index.ts";
import type { Finding } from "../report/finding.ts";

export interface Observation {
  readonly probe: string;
  readonly isPlain: boolean;
  /** The client's chat wire; undefined for other modalities. */
  readonly wire: Wire | undefined;
  readonly stream: boolean;
  readonly bound: number | undefined;
  /** Bytes of the request; undefined with a file or non-ASCII text, whose tokens are unknown. */
  readonly plainBytes: number | undefined;
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The provider's body as it came, cut at `BODY_KEPT_BYTES_MAX` or at the limit for images. */
  readonly body: Buffer;
  readonly pieces: number;
  /** Why the gateway cannot use the answer; undefined if it can. */
  readonly failure: UpstreamFailure | undefined;
  readonly timedOut: boolean;
  readonly wasReset: boolean;
  readonly usage: Usage | undefined;
  /** Why the token counts cannot be right; undefined if they can. */
  readonly usageFlaw: string | undefined;
  /** True if the finish reason is missing, or names a tool call that is absent. */
  readonly hasWrongFinish: boolean;
  readonly servedModel: ServedModel | undefined;
  /** The text that a client would receive, cut at `BODY_KEPT_BYTES_MAX`. */
  readonly output: string;
  readonly firstByteMs: number | null;
  /** How often the probe was sent: connection errors and 429 are retried. */
  readonly tries: number;
}

/** Thrown if a probe got no answer to judge; `status` is then the result of its check. */
export class ProbeNotSent extends Error {
  override readonly name = "ProbeNotSent";
  readonly status: "skip" | "error";

  constructor(status: "skip" | "error", message: string) {
    super(message);
    this.status = status;
  }
}

/** A part whose probe cannot be sent gives a finding, so that the other parts are still judged. */
export async function guardFinding(what: string, find: () => Promise<Finding>): Promise<Finding> {
  try {
    return await find();
  } catch (fault) {
    if (!(fault instanceof ProbeNotSent)) throw fault;
    return toUnsentFinding(fault, `${what}: ${fault.message}`);
  }
}

export function toUnsentFinding({ status, message }: ProbeNotSent, said = message): Finding {
  return { status, message: said, ...(status === "skip" && { isUnasked: true }) };
}

/** The bill of a refused text is not known, so the listing does not pass. */
export function toUnmeasuredFinding({ probe, status }: Observation): Finding {
  const message = `${probe}: not answered with usage (${status ?? "no answer"})`;
  return { status: "skip", message, isUnasked: true };
}

export function describeFailure({ failure }: Observation): string {
  return failure?.refusal.message ?? "";
}

/** True if the gateway accepted the answer as complete. */
export function isServed(observation: Observation): boolean {
  return observation.failure === undefined;
}
