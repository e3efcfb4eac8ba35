import { markdownTableOf, print } from "./markdown-table.ts";
import type { BenchResults, ResultRow } from "./results.ts";
import { ownFigure } from "./row-figures.ts";
import { WORKS } from "./works.ts";

const HEADINGS = [
  "Work",
  "Per second",
  "Load of the gateway",
  "Ledger batches per 1,000",
  "Rows in a batch",
  "Collections per 1,000",
  "Collecting, ms per 1,000",
];

/** What happened in the gateway while each row was measured, in the rows where it was counted. */
export function innerTable(results: BenchResults): string | undefined {
  return markdownTableOf(
    HEADINGS,
    results.rows.flatMap((row) => innerCells(row)),
  );
}

function innerCells(row: ResultRow): readonly (readonly string[])[] {
  const work = WORKS.find((one) => one.id === row.work);
  const figure = ownFigure(row);
  if (work === undefined || figure?.inner === undefined) return [];
  const { batchesPerThousand, rowsPerBatch, collectionsPerThousand, collectionMsPerThousand } =
    figure.inner;
  const load = figure.loadMedian === undefined ? "-" : `${Math.round(figure.loadMedian * 100)} %`;
  const counted = [
    batchesPerThousand,
    rowsPerBatch,
    collectionsPerThousand,
    collectionMsPerThousand,
  ];
  return [[work.title, figure.perSecondMedian.toFixed(0), load, ...counted.map(print)]];
}
