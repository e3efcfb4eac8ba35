import type { Wire } from "../../../formats/index.ts";
import { asObject, tryParse } from "../../../kernel/index.ts";

/** One question to a provider, written as a client of the gateway would write it. */
export interface Probe {
  /** Unique among the probes of a model: a probe that is asked twice is sent once. */
  readonly name: string;
  /** The client's wire of a chat; absent for the other modalities. */
  readonly wire?: Wire;
  /** The client's body without `model`, which is the listing's. */
  readonly body: Readonly<Record<string, unknown>>;
  /**
   * Changes the finished body: for what no gateway would send. The name of the model and the key
   * are changed by `as`.
   */
  readonly changeBody?: (body: Buffer) => Buffer;
  readonly as?: "wrong_key" | "unknown_model";
  /** Another limit than that of the run, in milliseconds. */
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
