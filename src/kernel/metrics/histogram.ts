import { boundText, type TextForm } from "./text-form.ts";

/** A trace that was kept, and when: shown with the bucket of what it took, in OpenMetrics only. */
export interface KeptTrace {
  readonly traceId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

interface Exemplar extends KeptTrace {
  readonly value: number;
}

/**
 * One series of a histogram: the counts of its buckets, the one above the last bound, and the sum,
 * in one array of numbers. An observation allocates nothing.
 */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #cells: Float64Array;
  /** By bucket; made with the first trace that was kept. */
  #exemplars: (Exemplar | undefined)[] | undefined;
  /** The text before each number; made with the first scrape. */
  #prefixes: readonly string[] | undefined;
  readonly #name: string;
  readonly #labels: string;

  /** `labels`: `a="1",b="2"`, or empty. */
  constructor(name: string, bounds: readonly number[], labels: string) {
    this.#name = name;
    this.#bounds = bounds;
    this.#cells = new Float64Array(bounds.length + 2);
    this.#labels = labels;
  }

  observe(value: number, trace?: KeptTrace): void {
    const cells = this.#cells;
    const at = this.#bucketOf(value);
    cells[at] = (cells[at] ?? 0) + 1;
    const sum = cells.length - 1;
    cells[sum] = (cells[sum] ?? 0) + value;
    if (trace !== undefined) this.#exemplify(at, { ...trace, value });
  }

  text(form: TextForm): string {
    this.#prefixes ??= this.#makePrefixes();
    const prefixes = this.#prefixes;
    const cells = this.#cells;
    const buckets = this.#bounds.length + 1;
    const exemplars = form === "openmetrics" ? this.#exemplars : undefined;
    let text = "";
    let count = 0;
    for (let at = 0; at < buckets; at += 1) {
      count += cells[at] ?? 0;
      const exemplar = exemplars?.[at];
      text += prefixes[at];
      text += exemplar === undefined ? `${count}\n` : `${count}${exemplarText(exemplar)}\n`;
    }
    return `${text}${prefixes[buckets]}${cells[buckets]}\n${prefixes[buckets + 1]}${count}\n`;
  }

  #exemplify(bucket: number, exemplar: Exemplar): void {
    this.#exemplars ??= [];
    this.#exemplars[bucket] = exemplar;
  }

  #bucketOf(value: number): number {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
    return at;
  }

  #makePrefixes(): readonly string[] {
    const labels = this.#labels;
    const before = labels === "" ? "" : `${labels},`;
    const bounds = [...this.#bounds.map(boundText), "+Inf"];
    const own = labels === "" ? "" : `{${labels}}`;
    return [
      ...bounds.map((bound) => `${this.#name}_bucket{${before}le="${bound}"} `),
      `${this.#name}_sum${own} `,
      `${this.#name}_count${own} `,
    ];
  }
}

function exemplarText({ traceId, value, atMs }: Exemplar): string {
  return ` # {trace_id="${traceId}"} ${value} ${(atMs / 1000).toFixed(3)}`;
}
