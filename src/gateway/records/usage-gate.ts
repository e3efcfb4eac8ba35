import { type OrgId, refusal, unavailable } from "../../kernel/index.ts";
import type { ClientExchange } from "../call/client-exchange.ts";
import { ReportTimeout } from "./report-sources.ts";

const RETRY_AFTER_SECONDS = 10;

/**
 * Bounds how many long reads of one kind each organization has at once, so that none can occupy the
 * database.
 */
export class UsageGate {
  readonly #max: number;
  readonly #tooMany: string;
  readonly #underWay = new Map<OrgId, number>();

  constructor(max: number, tooMany: string) {
    this.#max = max;
    this.#tooMany = tooMany;
  }

  /** Runs `serve`, or refuses the request if its organization has `max` of these reads. */
  async run(exchange: ClientExchange, serve: () => Promise<void>): Promise<void> {
    const { orgId } = exchange.principal;
    const underWay = this.#underWay.get(orgId) ?? 0;
    if (underWay >= this.#max) return exchange.refuse(this.#refusal());
    this.#underWay.set(orgId, underWay + 1);
    try {
      await serve();
    } catch (fault) {
      if (!(fault instanceof ReportTimeout)) throw fault;
      exchange.refuse(TOO_SLOW);
    } finally {
      const left = (this.#underWay.get(orgId) ?? 1) - 1;
      if (left > 0) this.#underWay.set(orgId, left);
      else this.#underWay.delete(orgId);
    }
  }

  #refusal(): ReturnType<typeof refusal> {
    return refusal(
      "rate_limit",
      `${this.#max} ${this.#tooMany}; wait until one of them is complete`,
      {
        origin: "gateway_admission",
        limit: { scope: "org", kind: "concurrency" },
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      },
    );
  }
}

const TOO_SLOW = unavailable(
  "summing up this usage took too long; choose a shorter time range, or try again in a moment",
);
