/** The gateway's own counters at one moment, summed over its processes. */
export interface GatewayCounters {
  readonly requests: number;
  /** Batches that the ledger's lanes sent, and the rows in them. */
  readonly batches: number;
  readonly rows: number;
  readonly collections: number;
  readonly collectionSeconds: number;
}

/** What happened inside the gateway while one row was measured. */
export interface InnerFigures {
  /** For each 1,000 requests, or chunks of a stream. */
  readonly batchesPerThousand: number;
  readonly rowsPerBatch: number;
  readonly collectionsPerThousand: number;
  readonly collectionMsPerThousand: number;
}

const SCRAPE_TIMEOUT_MS = 10_000;

/** Reads the counters where the gateway shows them to its operator. */
export async function readCounters(urls: readonly string[]): Promise<GatewayCounters> {
  const texts = urls.map(async (url) => {
    const answer = await fetch(url, { signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS) });
    return await answer.text();
  });
  return countersIn((await Promise.all(texts)).join("\n"));
}

/** The counters in a text of Prometheus' form; a series that is not there counts as 0. */
export function countersIn(text: string): GatewayCounters {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const parts = /^([a-z_]+)(?:\{[^}]*\})? (\S+)$/.exec(line);
    if (parts === null) continue;
    const [, name = "", value] = parts;
    sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  const sumOf = (name: string): number => sums.get(name) ?? 0;
  return {
    requests: sumOf("tm_requests_total"),
    batches: sumOf("tm_ledger_batches_total"),
    rows: sumOf("tm_ledger_rows_total"),
    collections: sumOf("nodejs_gc_duration_seconds_count"),
    collectionSeconds: sumOf("nodejs_gc_duration_seconds_sum"),
  };
}

/** What happened between two readings, in which so many requests or chunks were served. */
export function innerFigures(
  before: GatewayCounters,
  after: GatewayCounters,
  count: number,
): InnerFigures | undefined {
  if (count <= 0) return undefined;
  const thousands = count / 1_000;
  const batches = after.batches - before.batches;
  return {
    batchesPerThousand: batches / thousands,
    rowsPerBatch: batches === 0 ? 0 : (after.rows - before.rows) / batches,
    collectionsPerThousand: (after.collections - before.collections) / thousands,
    collectionMsPerThousand:
      ((after.collectionSeconds - before.collectionSeconds) * 1e3) / thousands,
  };
}
