import { unreachable } from "../src/core/assert.ts";
import type { BodyKind } from "./chat-bodies.ts";
import type { Callers, Route, TargetId } from "./targets/target.ts";

/** What one row of the table measures. */
export interface Work {
  readonly id: string;
  readonly title: string;
  readonly kind: "request" | "stream" | "memory" | "latency";
  readonly route: Route;
  readonly bodyBytes: number;
  /** Default: a conversation of text. */
  readonly bodyKind?: BodyKind;
  readonly targets: readonly TargetId[];
  /** Default: those of the command line. */
  readonly connections?: number;
  /** Default: one customer's good key. */
  readonly callers?: Callers;
  /** What is answered to a request that is refused; default 200. */
  readonly status?: number;
  /** A word of that answer, where its status has several meanings. */
  readonly code?: string;
  /** The row whose nginx and floor it is compared with; default: its own. */
  readonly besides?: string;
  /** The row of the same request served, for what is refused. */
  readonly served?: string;
  /** Bounds of the figures to reach, for the gateway; none: the row only reports. */
  readonly reach: Goal;
  readonly stretch: Goal;
}

/** Every field is a bound from above; a row meets a goal when all that it names are kept. */
export interface Goal {
  /** The gateway's own process, times the Node floor. */
  readonly timesFloorMax?: number;
  /** The database's processes, us for each request. */
  readonly databaseMax?: number;
  /** Gateway and database together, times the same request served. */
  readonly timesServedMax?: number;
  /** The figure itself. */
  readonly valueMax?: number;
}

interface Goals {
  readonly reach: Goal;
  readonly stretch: Goal;
}

const A_TO_A: Route = { client: "wire_a", upstream: "wire_a" };
const A_TO_B: Route = { client: "wire_a", upstream: "wire_b" };
const B_TO_A: Route = { client: "wire_b", upstream: "wire_a" };
const PEERS: readonly TargetId[] = [
  "portkey",
  "bifrost-core",
  "bifrost",
  "bifrost-full",
  "litellm",
  "litellm-full",
];
/** Those that are fast enough for a rate and for thousands of streams. */
const FAST: readonly TargetId[] = [
  "gateway",
  "nginx",
  "floor",
  ...PEERS.filter((id) => !id.startsWith("litellm")),
];
const ALL: readonly TargetId[] = ["gateway", "nginx", "floor", ...PEERS];
const NO_GOAL: Goals = { reach: {}, stretch: {} };
/** A database that is idle still takes a little. */
const NO_DATABASE_WORK_US = 1;

/** Every row, in the order of the table. `--only` picks by the start of an id. */
export const WORKS: readonly Work[] = [
  request("1kb-same", "1 KB, same wire", A_TO_A, {
    reach: { timesFloorMax: 2, databaseMax: 75 },
    stretch: { timesFloorMax: 1.8, databaseMax: 60 },
  }),
  translated("1kb-b-to-a", "1 KB, wire_b client on wire_a", B_TO_A),
  translated("1kb-a-to-b", "1 KB, wire_a client on wire_b", A_TO_B),
  { ...request("20kb-same", "20 KB, same wire", A_TO_A, floor(1.8, 1.5)), bodyBytes: 20_480 },
  { ...request("200kb-same", "200 KB, same wire", A_TO_A, floor(1.9, 1.5)), bodyBytes: 204_800 },
  {
    ...request("tools-50kb", "50 KB of tools, same wire", A_TO_A, NO_GOAL),
    bodyBytes: 51_200,
    bodyKind: "tools",
  },
  {
    ...request("image-2mb", "2 MB image, same wire", A_TO_A, NO_GOAL),
    bodyBytes: 2_097_152,
    bodyKind: "image",
  },
  {
    ...request("1kb-256", "1 KB, 256 connections", A_TO_A, {
      reach: { databaseMax: 50 },
      stretch: { databaseMax: 40 },
    }),
    connections: 256,
    targets: ["gateway", "nginx", "floor"],
  },
  {
    ...request("1kb-50-orgs", "1 KB, 50 organizations", A_TO_A, NO_GOAL),
    targets: ["gateway"],
    callers: "many",
    besides: "1kb-same",
  },
  {
    ...request("1kb-workers-2", "1 KB, two workers", A_TO_A, NO_GOAL),
    targets: ["gateway-workers"],
    besides: "1kb-same",
  },
  {
    ...refused("refused-key", "refused: unknown key", 401),
    targets: ["gateway", "floor"],
    callers: "bad_key",
  },
  { ...refused("refused-body", "refused: broken body", 400), bodyKind: "broken" },
  {
    ...refused("refused-credit", "refused: no credit", 429),
    callers: "no_credit",
    code: "insufficient_quota",
  },
  stream("stream-same", "stream chunk, same wire", A_TO_A, floor(1.3, 1.15)),
  {
    ...stream("stream-b-to-a", "stream chunk, wire_b client on wire_a", B_TO_A, floor(1.4, 1.25)),
    besides: "stream-same",
  },
  {
    ...stream("stream-a-to-b", "stream chunk, wire_a client on wire_b", A_TO_B, floor(1.4, 1.25)),
    besides: "stream-same",
  },
  {
    id: "latency",
    title: "added p50, paced load",
    kind: "latency",
    route: A_TO_A,
    bodyBytes: 1_024,
    targets: ["direct", ...FAST],
    reach: { valueMax: 2.2 },
    stretch: { valueMax: 1.5 },
  },
  {
    id: "memory",
    title: "memory per open stream",
    kind: "memory",
    route: A_TO_A,
    bodyBytes: 1_024,
    targets: FAST,
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

/** Is it a cost of processor time, which has a ratio to the floor and to nginx? */
export function isCost(work: Pick<Work, "kind">): boolean {
  return work.kind === "request" || work.kind === "stream";
}

function floor(reach: number, stretch: number): Goals {
  return { reach: { timesFloorMax: reach }, stretch: { timesFloorMax: stretch } };
}

function request(...[id, title, route, goals]: [string, string, Route, Goals]): Work {
  return { id, title, kind: "request", route, bodyBytes: 1_024, targets: ALL, ...goals };
}

/** The floor translates nothing: its figure is the one of the same body on one wire. */
function translated(...[id, title, route]: [string, string, Route]): Work {
  return { ...request(id, title, route, floor(2.2, 2)), besides: "1kb-same" };
}

function refused(...[id, title, status]: [string, string, number]): Work {
  const reach = { timesServedMax: 0.5 };
  const goals = { reach, stretch: { ...reach, databaseMax: NO_DATABASE_WORK_US } };
  const row = request(id, title, A_TO_A, goals);
  return { ...row, targets: ["gateway"], status, besides: "1kb-same", served: "1kb-same" };
}

function stream(...[id, title, route, goals]: [string, string, Route, Goals]): Work {
  return { ...request(id, title, route, goals), kind: "stream" };
}
