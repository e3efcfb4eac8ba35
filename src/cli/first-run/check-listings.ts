import { readFileSync } from "node:fs";
import { basename } from "node:path";

import type { Deployment } from "../../catalog/index.ts";
import { type Config, microUsd, type MicroUsd } from "../../kernel/index.ts";
import { type ConformanceReport, PROBE_TIMEOUT_MS, runSuite } from "../../listing-tools/index.ts";
import type { CommandContext } from "../command-context.ts";
import { modelSuite, showProgress } from "../conformance-run.ts";

export interface TriedListing {
  readonly file: string;
  readonly modelId: string;
}

export interface TriedModel extends TriedListing {
  readonly report: ConformanceReport | undefined;
  readonly problems: readonly string[];
}

/** Runs all checks on each listing. Each run gets an equal share of the budget. */
export async function tryListings(
  context: CommandContext,
  listings: readonly TriedListing[],
  { config, budgetMicroUsd }: { readonly config: Config; readonly budgetMicroUsd: MicroUsd },
): Promise<readonly TriedModel[]> {
  const share = microUsd(budgetMicroUsd / BigInt(Math.max(1, listings.length)));
  const tried: TriedModel[] = [];
  await showProgress(context, async (onProgress) => {
    for (const { file, modelId } of listings) {
      const outcome = await runSuite({
        ...modelSuite(context, config, modelId),
        manifestText: readFileSync(file, "utf8"),
        file: basename(file),
        budgetMicroUsd: share,
        timeoutMs: PROBE_TIMEOUT_MS,
        signal: new AbortController().signal,
        onProgress,
      });
      const ended = outcome.ok ? { report: outcome.report } : { problems: outcome.problems };
      tried.push({ file, modelId, report: undefined, problems: [], ...ended });
    }
  });
  return tried;
}

/** The cheapest text listing that can be sold, for a first call and for trials. */
export function cheapest(deployments: readonly Deployment[]): Deployment | undefined {
  const usable = deployments.flatMap((deployment) => {
    const { modality, notReady, prices } = deployment;
    if (modality !== "text" || notReady !== undefined || prices === null) return [];
    return [{ deployment, price: prices.prompt + prices.completion }];
  });
  return usable.toSorted((a, b) => (a.price < b.price ? -1 : 1))[0]?.deployment;
}
