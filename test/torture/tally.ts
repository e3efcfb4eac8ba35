import { systemClock } from "../../src/kernel/core/time.ts";
import { at, costOf, type HttpAnswer } from "../support/ask.ts";
import type { GatewayLife } from "./gateway-slot.ts";

/** The cost that a whole answer reported. */
export interface Reported {
  /** Undefined if the answer reported no cost. */
  readonly costMicroUsd: bigint | undefined;
  /** Time of the report, in monotonic milliseconds. */
  readonly atMs: number;
  readonly life: GatewayLife;
}

/** The observations of all clients of a run together. */
export class Tally {
  asked = 0;
  /** Connections that broke because their gateway ended. */
  broken = 0;
  /** Clients that left on purpose. */
  left = 0;
  /** Calls that had no answer after 90 seconds. */
  unanswered = 0;
  /** Answers that began well but ended with an error, as when the provider's stream died. */
  died = 0;
  /** Whole answers by request id. */
  readonly reported: Map<string, Reported> = new Map();
  /** Number of refusals by description: status, class, scope, and "cap" if a cap refused. */
  readonly refusals: Map<string, number> = new Map();
  /** Ids of requests that were answered with 429: they must cost nothing. */
  readonly refusedIds: string[] = [];

  report(life: GatewayLife, answer: HttpAnswer): void {
    const atMs = systemClock.monotonicMs();
    this.reported.set(answer.requestId, { costMicroUsd: costOf(answer), atMs, life });
    life.answers += 1;
  }

  refuse(answer: HttpAnswer): void {
    const { status, headers, json } = answer;
    const words = [
      status,
      headers["x-tm-error-code"] ?? String(at(json, "error", "type")),
      headers["x-tm-limit-scope"] ?? "",
      "x-tm-cap-reset" in headers ? "cap" : "",
    ];
    const name = words.filter((word) => word !== "").join(" ");
    this.refusals.set(name, (this.refusals.get(name) ?? 0) + 1);
    if (status === 429) this.refusedIds.push(answer.requestId);
  }

  /** Returns the number of refusals whose description matches. */
  refused(pattern: RegExp): number {
    let count = 0;
    for (const [name, times] of this.refusals) if (pattern.test(name)) count += times;
    return count;
  }
}
