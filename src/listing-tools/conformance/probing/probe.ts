import type { Wire } from "../../../formats/index.ts";
import { asObject, tryParse } from "../../../kernel/index.ts";

/** A request to a provider, written like a client's request to the gateway. */
export interface Probe {
  /** Unique among the probes of a model: a second probe with the same name is not sent. */
  readonly name: string;
  readonly wire?: Wire;
  /** The client's body without `model`, which the listing supplies. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Makes a body that the gateway would never send. `as` changes only the model or the key. */
  readonly changeBody?: (body: Buffer) => Buffer;
  readonly as?: "wrong_key" | "unknown_model";
}

/** True if a customer could send this request. Only then does its answer show what they get. */
export function isPlain(probe: Probe): boolean {
  return probe.changeBody === undefined && probe.as === undefined;
}

export function cutInHalf(body: Buffer): Buffer {
  return body.subarray(0, Math.floor(body.length / 2));
}

export function withMembers(body: Buffer, members: Readonly<Record<string, unknown>>): Buffer {
  const parsed = asObject(tryParse(body.toString("utf8"))?.value) ?? {};
  return Buffer.from(JSON.stringify({ ...parsed, ...members }));
}
