import type {
  ListingDifference,
  RefreshFinding,
  ManifestDifference,
} from "../listing-tools/index.ts";
import { describeListing, factLine, priceLine } from "./describe-difference.ts";

/** The effect of a refresh as lines of text, also of a refresh that was not written. */
export function describeRefresh(
  results: readonly RefreshedFile[],
  isWritten: boolean,
): readonly string[] {
  const changed = results.filter(({ state }) => state === "changed").length;
  const done = isWritten ? "written" : "to be written with --write";
  return [...results.flatMap(describeFile), `${changed} of ${results.length} manifests ${done}`];
}

const STATES: Readonly<Record<RefreshedFile["state"], string>> = {
  changed: "follows its source",
  unchanged: "is as its source says",
  no_source: "has no catalog_source: it was not imported, so it is not refreshed",
  no_head: "is not refreshed",
  older_source: "is not refreshed",
  lists_nothing: "is not refreshed",
  invalid: "is not refreshed, as it would not be valid",
};

function describeFile(result: RefreshedFile): readonly string[] {
  const { file, state, detail, difference, findings } = result;
  const models: readonly ListingDifference[] = difference?.models ?? [];
  return [
    `${file} ${STATES[state]}${detail === undefined ? "" : `: ${detail}`}`,
    ...models.flatMap(describeListing).map((line) => `  ${line}`),
    ...findings.flatMap(describeFinding).map((line) => `  ${line}`),
  ];
}

function describeFinding({ model, kind, prices, facts }: RefreshFinding): readonly string[] {
  const say: Readonly<Record<RefreshFinding["kind"], string>> = {
    rise_waits: `rises by more than --max-rise: nothing is changed without --accept ${model}`,
    staging_waits: `would be staged: nothing is changed without --accept ${model}`,
    going_waits: `is not in the source, as half of the list: --accept ${model} ends it in 14 days`,
    edited: "was edited and stays as it is; the source says",
    removed_by_hand: "was removed and stays so",
    gone: "is not in the source any more and ends in 14 days",
  };
  return [
    `${model} ${say[kind]}`,
    ...prices.map((price) => `  ${priceLine(price)}`),
    ...facts.map((fact) => `  ${factLine(fact)}`),
  ];
}

export interface RefreshedFile {
  readonly file: string;
  readonly provider: string;
  readonly state:
    | "changed"
    | "unchanged"
    /** The manifest was not imported, so there is nothing to refresh. */
    | "no_source"
    /** No head of this provider (its manifest without models) is known, and an import needs one. */
    | "no_head"
    /** The source is older than the last import. */
    | "older_source"
    | "lists_nothing"
    | "invalid";
  readonly detail?: string;
  readonly difference?: ManifestDifference;
  readonly findings: readonly RefreshFinding[];
}
