import type { Wire } from "../chat-bodies.ts";
import type { Endpoint } from "../endpoint.ts";
import type { ByPart } from "../load.ts";
import type { Sizes } from "../sizes.ts";

export type TargetId =
  | `gateway${"" | "-workers" | "-redis" | "-own" | "-own-jit-off" | "-pair" | "-grown"}`
  | `bifrost${"" | "-core" | "-full"}`
  | `litellm${"" | "-full"}`
  | "nginx"
  | "floor"
  | "portkey"
  | "direct";

export interface Route {
  readonly client: Wire;
  readonly upstream: Wire;
}

/** Whose keys the measured requests carry. Default: the key of one customer with credit. */
export type Callers = "many" | "bad_key" | "no_credit";

export interface Pace {
  readonly connectionsMax: number;
  readonly streamsMax: number;
  /** Length of the measurement, as a multiple of the window of ordinary requests. */
  readonly windows: number;
}

export interface Target {
  readonly id: TargetId;
  readonly version: string;
  /** Undefined if the target does not serve the route. */
  endpoint(route: Route): Endpoint | undefined;
  modelId(route: Route): string;
  /** Raw keys for each kind of caller. A kind is absent if the target has no such keys. */
  readonly keys?: Partial<Readonly<Record<Callers, readonly string[]>>>;
  /** A smaller load, for a target that answers a hundred times more slowly than the others. */
  readonly pace?: Pace;
  /** Process ids. The CPU time of `own` is the target's figure; the rest is reported beside it. */
  processes(): Pick<ByPart<readonly number[]>, "own"> & Partial<ByPart<readonly number[]>>;
  /** The port of each instance. Each gets as many connections as a single instance would. */
  readonly ports?: readonly number[];
  stop(): Promise<void>;
}

export interface TargetStart {
  readonly mockPort: number;
  /** An empty folder for this target alone. */
  readonly folder: string;
  readonly sizes: Sizes;
}

/** Thrown if a target is not installed on this machine; the report says that it was left out. */
export class TargetAbsent extends Error {}

export function chatPath(wire: Wire): string {
  return wire === "wire_a" ? "/v1/chat/completions" : "/v1/messages";
}

export function clientHeaders(wire: Wire, key: string): Readonly<Record<string, string>> {
  const bearer = { authorization: `Bearer ${key}` };
  return wire === "wire_a" ? bearer : { ...bearer, "anthropic-version": "2023-06-01" };
}
