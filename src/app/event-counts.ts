import { type Family, increment, mapped } from "../kernel/index.ts";

export class EventCounts {
  readonly #purchases: Map<string, number> = new Map();
  readonly #webhooks: Map<string, number> = new Map();
  readonly #signIns: Map<string, number> = new Map();
  readonly #reloads: Map<string, number> = new Map();

  readonly purchase = (end: string): void => increment(this.#purchases, end);
  readonly webhook = (result: string): void => increment(this.#webhooks, result);
  readonly signIn = (result: string): void => increment(this.#signIns, result);

  reload(what: "catalog" | "settings", result: "swapped" | "unchanged" | "failed"): void {
    increment(this.#reloads, `${what}|${result}`);
  }

  families(): readonly Family[] {
    return [
      mapped("tm_purchases_total", this.#purchases),
      mapped("tm_webhooks_total", this.#webhooks),
      mapped("tm_sign_ins_total", this.#signIns),
      mapped("tm_reloads_total", this.#reloads),
    ];
  }
}
