import { type Family, mapped } from "../kernel/index.ts";

export class EventCounts {
  readonly #purchases: Map<string, number> = new Map();
  readonly #webhooks: Map<string, number> = new Map();
  readonly #signIns: Map<string, number> = new Map();
  readonly #reloads: Map<string, number> = new Map();

  readonly purchase = (end: string): void => add(this.#purchases, end);
  readonly webhook = (result: string): void => add(this.#webhooks, result);
  readonly signIn = (result: string): void => add(this.#signIns, result);

  reload(what: "catalog" | "settings", result: "swapped" | "unchanged" | "failed"): void {
    add(this.#reloads, `${what}|${result}`);
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

function add(counter: Map<string, number>, key: string): void {
  counter.set(key, (counter.get(key) ?? 0) + 1);
}
