import { setImmediate as nextTurn } from "node:timers/promises";

import { assert } from "../core/assert.ts";
import type { Family, TextForm } from "./family.ts";
import type { MetricName } from "./metrics-table.ts";

export interface Scrape {
  readonly contentType: string;
  readonly body: Buffer;
}

const CONTENT_TYPES: Readonly<Record<TextForm, string>> = {
  classic: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** All metrics of one process. Throws if two families have the same name. */
export class Exposition {
  readonly #families: readonly Family[];
  readonly #others: (form: TextForm) => Promise<string>;

  /** `others` renders the metrics that are not in `METRICS`, such as memory and CPU. */
  constructor(families: readonly Family[], others: (form: TextForm) => Promise<string>) {
    const names = families.map(({ name }) => name);
    assert(new Set(names).size === names.length, "a metric is given by one family");
    this.#families = families;
    this.#others = others;
  }

  get names(): readonly MetricName[] {
    return this.#families.map(({ name }) => name);
  }

  /** Makes a scrape in each format, so that the code is compiled (10 ms) before requests arrive. */
  async warmUp(): Promise<void> {
    await this.scrape(undefined);
    await this.scrape("application/openmetrics-text");
  }

  /** Answers a scraper, in OpenMetrics if its `accept` header asks for that. */
  async scrape(accept: string | undefined): Promise<Scrape> {
    const form: TextForm =
      accept?.includes("application/openmetrics-text") === true ? "openmetrics" : "classic";
    const parts: Buffer[] = [];
    let chars = 0;
    for (const family of this.#families) {
      for (const part of family.parts(form)) {
        // Encoded part by part, because one long text would block the event loop.
        parts.push(Buffer.from(part));
        chars += part.length;
        if (chars < TURN_CHARS) continue;
        chars = 0;
        await nextTurn();
      }
    }
    await nextTurn();
    parts.push(Buffer.from(await this.#others(form)));
    if (form === "openmetrics") parts.push(Buffer.from("# EOF\n"));
    return { contentType: CONTENT_TYPES[form], body: Buffer.concat(parts) };
  }
}

const TURN_CHARS = 32 * 1024;
