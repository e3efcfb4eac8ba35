import type { TargetId } from "./target.ts";

/** The parts with which an operator runs this gateway; its limits are in Redis. */
export interface Deployment {
  readonly id: TargetId;
  /** The row of the table. */
  readonly title: string;
  /** Default: the embedded PostgreSQL. */
  readonly server?: "defaults" | "jit off";
  /** Default: one. */
  readonly instances?: number;
}

export const DEPLOYMENTS = [
  { id: "gateway-redis", title: "the embedded PostgreSQL, limits in Redis" },
  {
    id: "gateway-own",
    title: "a distribution's PostgreSQL with its defaults, limits in Redis",
    server: "defaults",
  },
  {
    id: "gateway-own-jit-off",
    title: "the same with `jit` off",
    server: "jit off",
  },
  {
    id: "gateway-pair",
    title: "two instances on a distribution's PostgreSQL, as many in flight each",
    server: "defaults",
    instances: 2,
  },
] as const satisfies readonly Deployment[];
