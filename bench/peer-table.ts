import { markdownTableOf, print } from "./markdown-table.ts";
import type { BenchResults, ResultRow } from "./results.ts";
import { ratio, togetherOf, usable } from "./row-figures.ts";
import type { TargetId } from "./targets/target.ts";
import { isCost, WORKS } from "./works.ts";

const COLUMNS: readonly (readonly [TargetId, string])[] = [
  ["portkey", "Portkey, bare"],
  ["bifrost-core", "Bifrost core, bare relay (a lower bound: its HTTP program cannot be fetched)"],
  ["bifrost", "Bifrost, bare"],
  ["bifrost-full", "Bifrost, all on"],
  ["litellm", "LiteLLM, bare"],
  ["litellm-full", "LiteLLM, all on"],
];

/**
 * Each peer as it compares best with this gateway: with all on, else bare, which costs less. The
 * library below a handler is none of them: the peer itself costs more, and how much is not known.
 */
const PEERS: readonly (readonly TargetId[])[] = [
  ["portkey"],
  ["bifrost-full", "bifrost"],
  ["litellm-full", "litellm"],
];

/** Every peer beside the gateway with its database, in the rows where a peer was measured. */
export function peerTable(results: BenchResults): string | undefined {
  const rows = results.rows.flatMap((row) => {
    const work = WORKS.find((one) => one.id === row.work);
    const isBeside = COLUMNS.some(([id]) => usable(row, id) !== undefined);
    return work !== undefined && isCost(work) && isBeside ? [peerCells(work.title, row)] : [];
  });
  const peers = COLUMNS.map(([, heading]) => heading);
  return markdownTableOf(["Work", "Unit", "Gateway", ...peers, "Next best", "Met"], rows);
}

function peerCells(title: string, row: ResultRow): readonly string[] {
  const own = togetherOf(usable(row, "gateway"));
  const cells = COLUMNS.map(([id]) => {
    const cost = togetherOf(usable(row, id));
    return cost === undefined ? "-" : `${print(cost)} (${timesText(ratio(cost, own))})`;
  });
  const costs = PEERS.map((variants) =>
    variants.map((id) => togetherOf(usable(row, id))).find((cost) => cost !== undefined),
  );
  const measured = costs.filter((cost) => cost !== undefined);
  const nextBest = measured.length === 0 ? undefined : ratio(Math.min(...measured), own);
  const isEveryOne = measured.length === costs.length;
  return [
    title,
    row.unit,
    own === undefined ? "-" : print(own),
    ...cells,
    timesText(nextBest),
    metWord(nextBest, isEveryOne),
  ];
}

function timesText(times: number | undefined): string {
  return times === undefined ? "-" : `${print(times)}x`;
}

/** The goals of this table: cheaper than every peer; half of the next best. */
function metWord(nextBest: number | undefined, isEveryOne: boolean): string {
  if (nextBest === undefined) return "-";
  if (nextBest <= 1) return "no";
  if (!isEveryOne) return "?";
  return nextBest >= 2 ? "stretch" : "reach";
}
