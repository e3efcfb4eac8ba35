import type { Principal } from "../../src/gateway/accounts/principal.ts";
import type { CallTimeouts } from "../../src/gateway/call/ports.ts";
import type { BooksModel } from "../support/books-model.ts";
import type { Random } from "./random.ts";
import { plainPrincipal } from "../support/plain-ports.ts";

/** The parameters of a scenario, drawn from its seed before anything happens. */
export interface SimulationShape {
  readonly startMs: number;
  readonly instances: number;
  /** True if all processes are on one machine, where a dead one is noticed at once. */
  readonly isOneHost: boolean;
  readonly requests: number;
  readonly trafficMs: number;
  /** No fault strikes from this virtual time on. */
  readonly faultsEndMs: number;
  readonly concurrentRequests: number;
  readonly drainsMax: number;
  readonly timeouts: CallTimeouts;
}

const MID_MONTH = Date.UTC(2026, 4, 12, 9, 30);
const MONTH_END = Date.UTC(2026, 5, 1) - 15_000;

export function shapeOf(random: Random): SimulationShape {
  const trafficMs = random.between(10, 45) * 1_000;
  const wholeMs = random.between(10, 40) * 1_000;
  const headersMs = random.between(2, 12) * 1_000;
  const idleMs = random.between(2, 15) * 1_000;
  const drainMs = random.between(5, 30) * 1_000;
  const endless = Number.POSITIVE_INFINITY;
  const whole = { headersMs: wholeMs, idleMs: endless, totalMs: wholeMs, drainMs };
  return {
    startMs: random.chance(0.2) ? MONTH_END : MID_MONTH,
    instances: random.between(2, 3),
    isOneHost: random.chance(0.3),
    requests: random.between(25, 60),
    trafficMs,
    faultsEndMs: trafficMs + random.between(0, 20_000),
    concurrentRequests: random.between(2, 8),
    drainsMax: random.pick([0, 1, 256]),
    timeouts: {
      stream: { headersMs, idleMs, totalMs: Number.POSITIVE_INFINITY, drainMs },
      whole,
      videoAccept: whole,
      decisions: whole,
      routingMs: random.between(10, 40) * 1_000,
      keepaliveMs: random.between(500, 10_000),
      commitSilenceMs: 0,
    },
  };
}

/** Fills the books: two organizations may run out of balance or reach a cap, one never does. */
export function fillBooks(books: BooksModel, random: Random): readonly Principal[] {
  const principals: Principal[] = [];
  for (const org of ["org_rich", "org_small", "org_capped"]) {
    const keys = [`${org}_key1`, `${org}_key2`];
    const account = books.addOrg(org, keys);
    const dollars = org === "org_small" ? random.between(1, 40) : 10_000;
    books.grant(org, BigInt(dollars) * 1_000n, `grant of ${org}`);
    if (org === "org_capped") {
      account.caps.month = BigInt(random.between(2, 60)) * 1_000n;
      const first = account.keys.get(keys[0] ?? "");
      if (first !== undefined) first.caps.month = BigInt(random.between(1, 30)) * 1_000n;
    }
    principals.push(...keys.map((key) => plainPrincipal(org, key)));
  }
  return principals;
}
