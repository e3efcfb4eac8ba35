import type { Wire } from "../../../formats/index.ts";
import { asObject, tryParse } from "../../../kernel/index.ts";

/** A request to a provider, in the form of a client's request to the gateway. */
export interface Probe {
  /** Unique among the probes of a model; equal names are sent once. */
  readonly name: string;
  /** The client's chat wire; absent for other modalities. */
  readonly wire?: Wire;
  /** The client's body without `model`, which comes from the listing. */
  readonly body: Readonly<Record<string, unknown>>;
  /**
   * Changes the finished body: for what no gateway would send. The name of the model and the key
   * are changed by `as`.
   */
  readonly changeBody?: (body: Buffer) => Buffer;
  readonly as?: "wrong_key" | "unknown_model";
  /** Time limit in milliseconds. Default: that of the run. */
  readonly timeoutMs?: number;
}

/** True if a customer could send this request; others reveal nothing about what customers get. */
export function isPlain(probe: Probe): boolean {
  return probe.changeBody === undefined && probe.as === undefined;
}

/** A body that ends in the middle, which is not JSON. */
export function cutInHalf(body: Buffer): Buffer {
  return body.subarray(0, Math.floor(body.length / 2));
}

/** The body with these members added or replaced. */
export function withMembers(body: Buffer, members: Readonly<Record<string, unknown>>): Buffer {
  const parsed = asObject(tryParse(body.toString("utf8"))?.value) ?? {};
  return Buffer.from(JSON.stringify({ ...parsed, ...members }));
}
