import type { BodyKind } from "./chat-bodies.ts";
import { DEPLOYMENTS } from "./targets/gateway.ts";
import type { Callers, Route, TargetId } from "./targets/target.ts";

export interface Work {
  readonly id: string;
  readonly title: string;
  readonly kind: "request" | "stream" | "memory" | "latency";
  readonly unit: "us/request" | "us/chunk" | "KB/stream" | "ms";
  readonly route: Route;
  readonly bodyBytes: number;
  /** Default: a conversation of text. */
  readonly bodyKind?: BodyKind;
  readonly targets: readonly TargetId[];
  /** Number of connections. Default: the number from the command line. */
  readonly connections?: number;
  /** Default: the key of one customer with credit. */
  readonly callers?: Callers;
  /** Expected status of a refused request. Default 200. */
  readonly status?: number;
  /** A text that the refusal must contain, for refusals that share their status with others. */
  readonly code?: string;
}

const A_TO_A: Route = { client: "wire_a", upstream: "wire_a" };
const A_TO_B: Route = { client: "wire_a", upstream: "wire_b" };
const B_TO_A: Route = { client: "wire_b", upstream: "wire_a" };
const FAST_PEERS: readonly TargetId[] = ["portkey", "bifrost-core", "bifrost", "bifrost-full"];
export const PEERS: readonly TargetId[] = [...FAST_PEERS, "litellm", "litellm-full"];
const OWN: readonly TargetId[] = ["gateway", "nginx", "floor"];
/** LiteLLM is left out: it is too slow for a fixed rate and for thousands of streams. */
const FAST = [...OWN, ...FAST_PEERS];
const ALL = [...OWN, ...PEERS];
const GROWN: readonly TargetId[] = ["gateway", "gateway-grown"];

/** What is measured, in report order. `--only x` picks the works whose id starts with x. */
export const WORKS: readonly Work[] = [
  {
    ...request("deployed", "1 KB, as deployed"),
    targets: ["gateway", ...DEPLOYMENTS.map(({ id }) => id)],
  },
  { ...request("1kb-same", "1 KB, same wire"), targets: [...ALL, "gateway-grown"] },
  { ...request("1kb-b-to-a", "1 KB, wire_b client on wire_a"), route: B_TO_A },
  { ...request("1kb-a-to-b", "1 KB, wire_a client on wire_b"), route: A_TO_B },
  { ...request("20kb-same", "20 KB, same wire"), bodyBytes: 20_480 },
  { ...request("200kb-same", "200 KB, same wire"), bodyBytes: 204_800 },
  { ...request("tools-50kb", "50 KB of tools"), bodyBytes: 51_200, bodyKind: "tools" },
  { ...request("image-2mb", "2 MB image"), bodyBytes: 2_097_152, bodyKind: "image" },
  { ...request("1kb-256", "1 KB, 256 connections"), connections: 256, targets: OWN },
  { ...request("1kb-50-orgs", "1 KB, 50 organizations"), targets: GROWN, callers: "many" },
  { ...refused("key", "unknown key", 401), targets: ["gateway", "floor"], callers: "bad_key" },
  { ...refused("body", "broken body", 400), bodyKind: "broken" },
  { ...refused("credit", "no credit", 429), callers: "no_credit", code: "insufficient_quota" },
  stream("stream-same", "stream chunk, same wire", A_TO_A),
  stream("stream-b-to-a", "stream chunk, wire_b client on wire_a", B_TO_A),
  stream("stream-a-to-b", "stream chunk, wire_a client on wire_b", A_TO_B),
  {
    ...request("latency", "added p50, paced load"),
    kind: "latency",
    unit: "ms",
    targets: ["direct", ...FAST],
  },
  {
    ...request("memory", "memory per open stream"),
    kind: "memory",
    unit: "KB/stream",
    targets: FAST,
  },
];

function request(id: string, title: string): Work {
  const kind = { kind: "request", unit: "us/request" } as const;
  return { id, title, ...kind, route: A_TO_A, bodyBytes: 1_024, targets: ALL };
}

function refused(id: string, title: string, status: number): Work {
  return { ...request(`refused-${id}`, `refused: ${title}`), targets: ["gateway"], status };
}

function stream(id: string, title: string, route: Route): Work {
  return { ...request(id, title), kind: "stream", unit: "us/chunk", route };
}
