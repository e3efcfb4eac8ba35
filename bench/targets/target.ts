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

/** One way from a client wire to a provider wire. */
export interface Route {
  readonly client: Wire;
  readonly upstream: Wire;
}

/** The owners of the keys that a row's requests carry, other than one customer with credit. */
export type Callers = "many" | "bad_key" | "no_credit";

export interface Pace {
  readonly connectionsMax: number;
  readonly streamsMax: number;
  /** Times the length of a window of requests. */
  readonly windows: number;
}

/** A running candidate. */
export interface Target {
  readonly id: TargetId;
  readonly version: string;
  /** The address that serves this route; undefined if there is none. */
  endpoint(route: Route): Endpoint | undefined;
  /** The model id a client names on this route. */
  modelId(route: Route): string;
  /** Keys by their owners; absent if it cannot be called with such keys. */
  readonly keys?: Partial<Readonly<Record<Callers, readonly string[]>>>;
  /** The load for a candidate that answers a hundred times more slowly than the others. */
  readonly pace?: Pace;
  /** Ids of its processes. The cost of its own ones is the candidate's figure. */
  processes(): Pick<ByPart<readonly number[]>, "own"> & Partial<ByPart<readonly number[]>>;
  /** The port of each instance. Each gets as many connections as a single instance would. */
  readonly ports?: readonly number[];
  stop(): Promise<void>;
}

/** The input with which every candidate is started. */
export interface TargetStart {
  readonly mockPort: number;
  /** An empty folder of its own. */
  readonly folder: string;
  /** How large the books of the grown gateway are. */
  readonly sizes: Sizes;
}

/** Thrown if a candidate is not installed on this machine; the report says that it was left out. */
export class TargetAbsent extends Error {}

export function chatPath(wire: Wire): string {
  return wire === "wire_a" ? "/v1/chat/completions" : "/v1/messages";
}

/** Headers a client of this wire sends with any key. */
export function clientHeaders(wire: Wire, key: string): Readonly<Record<string, string>> {
  const bearer = { authorization: `Bearer ${key}` };
  return wire === "wire_a" ? bearer : { ...bearer, "anthropic-version": "2023-06-01" };
}
