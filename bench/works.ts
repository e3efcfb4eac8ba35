import { unreachable } from "../src/core/assert.ts";
import type { Route, TargetId } from "./targets/target.ts";

/** What one row of the table measures. */
export interface Work {
  readonly id: string;
  readonly title: string;
  readonly kind: "request" | "stream" | "memory" | "latency";
  readonly route: Route;
  readonly bodyBytes: number;
  readonly targets: readonly TargetId[];
  /** Bounds of the figures to reach, for the gateway. */
  readonly reach: Goal;
  readonly stretch: Goal;
}

/** Times nginx and times less than Portkey for costs; the figure itself for memory and latency. */
export interface Goal {
  readonly timesNginxMax?: number;
  readonly timesLessThanPortkeyMin?: number;
  readonly valueMax?: number;
}

const A_TO_A: Route = { client: "wire_a", upstream: "wire_a" };
const A_TO_B: Route = { client: "wire_a", upstream: "wire_b" };
const B_TO_A: Route = { client: "wire_b", upstream: "wire_a" };
const ALL: readonly TargetId[] = ["gateway", "nginx", "floor", "portkey"];

/** Every row, in the order of the table. `--only` picks by the start of an id. */
export const WORKS: readonly Work[] = [
  request("1kb-same", "1 KB, same wire", A_TO_A, 1_024, [4, 2]),
  request("1kb-b-to-a", "1 KB, wire_b client on wire_a", B_TO_A, 1_024, [5, 2.5]),
  request("1kb-a-to-b", "1 KB, wire_a client on wire_b", A_TO_B, 1_024, [5, 2.5]),
  request("20kb-same", "20 KB, same wire", A_TO_A, 20_480, [3, 2]),
  request("200kb-same", "200 KB, same wire", A_TO_A, 204_800, [4.5, 2.5]),
  stream("stream-same", "stream chunk, same wire", A_TO_A, [2.3, 1.5]),
  stream("stream-b-to-a", "stream chunk, wire_b client on wire_a", B_TO_A, [2.8, 1.8]),
  stream("stream-a-to-b", "stream chunk, wire_a client on wire_b", A_TO_B, [2.8, 1.8]),
  {
    id: "latency",
    title: "added p50, paced load",
    kind: "latency",
    route: A_TO_A,
    bodyBytes: 1_024,
    targets: ["direct", ...ALL],
    reach: { valueMax: 3 },
    stretch: { valueMax: 1.5 },
  },
  {
    id: "memory",
    title: "memory per open stream",
    kind: "memory",
    route: A_TO_A,
    bodyBytes: 1_024,
    targets: ALL,
    reach: { valueMax: 90 },
    stretch: { valueMax: 30 },
  },
];

/** The unit of a work's figures. */
export function unitOf(work: Pick<Work, "kind">): string {
  switch (work.kind) {
    case "request":
      return "us/request";
    case "stream":
      return "us/chunk";
    case "memory":
      return "KB/stream";
    case "latency":
      return "ms";
    default:
      return unreachable(work.kind);
  }
}

type TimesNginx = readonly [reach: number, stretch: number];

function request(
  ...[id, title, route, bodyBytes, timesNginx]: [string, string, Route, number, TimesNginx]
): Work {
  const [reach, stretch] = timesNginx;
  return {
    id,
    title,
    kind: "request",
    route,
    bodyBytes,
    targets: targetsOf(route),
    reach: goal(route, reach, 10),
    stretch: goal(route, stretch, 25),
  };
}

function stream(...[id, title, route, timesNginx]: [string, string, Route, TimesNginx]): Work {
  const [reach, stretch] = timesNginx;
  return {
    id,
    title,
    kind: "stream",
    route,
    bodyBytes: 1_024,
    targets: targetsOf(route),
    reach: goal(route, reach, 2),
    stretch: goal(route, stretch, 3),
  };
}

/** Who serves a route: the floor translates nothing, Portkey no wire_b client onto wire_a. */
function targetsOf(route: Route): readonly TargetId[] {
  if (route.client === route.upstream) return ALL;
  return route.client === "wire_a" ? ["gateway", "nginx", "portkey"] : ["gateway", "nginx"];
}

/** The goal against Portkey falls away where Portkey does not serve. */
function goal(route: Route, timesNginxMax: number, timesLessThanPortkeyMin: number): Goal {
  const rival = targetsOf(route).includes("portkey");
  return { timesNginxMax, ...(rival ? { timesLessThanPortkeyMin } : {}) };
}
