import { type Refusal, refusal, Turns, type TurnsMax, unavailable } from "../../kernel/index.ts";
import type { ClientExchange } from "../call/client-exchange.ts";
import { ReportTimeout } from "./report-sources.ts";

const RETRY_AFTER_SECONDS = 10;

/** Bounds the concurrent requests of one kind per organization, so that none starves others. */
export class OrgGate {
  readonly #turns: Turns;
  readonly #refusal: Refusal;

  constructor(max: TurnsMax, tooMany: string) {
    this.#turns = new Turns(max);
    this.#refusal = refusal("rate_limit", `${tooMany}; wait until one of them is complete`, {
      origin: "gateway_admission",
      limit: { scope: "org", kind: "concurrency" },
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }

  /** Undefined if the request was refused, or if its client left while it waited. */
  async run<T>(exchange: ClientExchange, serve: () => Promise<T>): Promise<T | undefined> {
    const end = await this.#turns.take(exchange.principal.orgId);
    if (end === undefined) {
      exchange.refuse(this.#refusal);
      return undefined;
    }
    try {
      return exchange.gone ? undefined : await serve();
    } catch (fault) {
      if (!(fault instanceof ReportTimeout)) throw fault;
      exchange.refuse(TOO_SLOW);
      return undefined;
    } finally {
      end();
    }
  }
}

const TOO_SLOW = unavailable(
  "summing up this usage took too long; choose a shorter time range, or try again in a moment",
);
