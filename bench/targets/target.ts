import type { Wire } from "../chat-bodies.ts";
import type { Endpoint } from "../endpoint.ts";
import type { Sizes } from "../sizes.ts";

export const TARGET_IDS = [
  "gateway",
  "gateway-workers",
  "gateway-redis",
  "gateway-own",
  "gateway-own-jit-off",
  "gateway-pair",
  "gateway-grown",
  "nginx",
  "floor",
  "portkey",
  "bifrost-core",
  "bifrost",
  "bifrost-full",
  "litellm",
  "litellm-full",
  "direct",
] as const;

export type TargetId = (typeof TARGET_IDS)[number];

/** One way from a client wire to a provider wire. */
export interface Route {
  readonly client: Wire;
  readonly upstream: Wire;
}

/** Whose keys a row's requests carry, when it is not one customer's good key. */
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
  /** Where it serves this route, or undefined when it cannot. */
  endpoint(route: Route): Endpoint | undefined;
  /** The model id a client names on this route. */
  modelId(route: Route): string;
  /** The keys of such callers, where it has any. */
  readonly keys?: Partial<Readonly<Record<Callers, readonly string[]>>>;
  /** The load for a candidate that answers a hundred times more slowly than the others. */
  readonly pace?: Pace;
  /** The processes whose cost is the candidate's figure. */
  processIds(): readonly number[];
  /** Processes it needs beside itself, reported separately: a database. */
  helperProcessIds(): readonly number[];
  /** Its Redis, reported separately too. */
  redisProcessIds?(): readonly number[];
  /** The port of each instance, where there are several: each gets as many connections as a single one. */
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

/** Thrown when a candidate is not on this machine: it is left out, loudly. */
export class TargetAbsent extends Error {}

export function chatPath(wire: Wire): string {
  return wire === "wire_a" ? "/v1/chat/completions" : "/v1/messages";
}

/** Headers a client of this wire sends with any key. */
export function clientHeaders(wire: Wire, key: string): Readonly<Record<string, string>> {
  const bearer = { authorization: `Bearer ${key}` };
  return wire === "wire_a" ? bearer : { ...bearer, "anthropic-version": "2023-06-01" };
}
