import { readOutbound } from "../../app/index.ts";
import { readFileSync } from "node:fs";
import { basename } from "node:path";

import type { Deployment } from "../../catalog/index.ts";
import { type Config, microUsd, type MicroUsd } from "../../kernel/index.ts";
import { type ConformanceReport, PROBE_TIMEOUT_MS, runSuite } from "../../listing-tools/index.ts";
import { clock, type CommandContext } from "../command-context.ts";
import { conformanceProgress } from "../conformance-run.ts";

export interface TriedListing {
  readonly file: string;
  readonly modelId: string;
}

export interface TriedModel extends TriedListing {
  readonly report: ConformanceReport | undefined;
  readonly problems: readonly string[];
}

/** Runs all checks on one model of each manifest. All runs together cost at most the budget. */
export async function tryListings(
  context: CommandContext,
  listings: readonly TriedListing[],
  input: {
    readonly config: Config;
    readonly budgetMicroUsd: MicroUsd;
  },
): Promise<readonly TriedModel[]> {
  const { config, budgetMicroUsd } = input;
  const share = microUsd(budgetMicroUsd / BigInt(Math.max(1, listings.length)));
  const progress = conformanceProgress(context);
  const tried: TriedModel[] = [];
  try {
    for (const { file, modelId } of listings) {
      const outcome = await runSuite({
        manifestText: readFileSync(file, "utf8"),
        file: basename(file),
        env: context.env,
        clock,
        allowPrivateUpstreams: config.allowPrivateUpstreams,
        outbound: readOutbound(config),
        models: [modelId],
        checks: [],
        budgetMicroUsd: share,
        concurrency: 1,
        timeoutMs: PROBE_TIMEOUT_MS,
        signal: new AbortController().signal,
        onProgress: progress.checkEnded,
      });
      tried.push(
        outcome.ok
          ? { file, modelId, report: outcome.report, problems: [] }
          : { file, modelId, report: undefined, problems: outcome.problems },
      );
    }
  } finally {
    progress.end();
  }
  return tried;
}

/** The cheapest text listing that can be sold, for a first call and for trials. */
export function cheapest(deployments: readonly Deployment[]): Deployment | undefined {
  const usable = deployments.filter(
    ({ modality, notReady, prices }) =>
      modality === "text" && notReady === undefined && prices !== null,
  );
  return usable.toSorted((a, b) => (sumPrices(a) < sumPrices(b) ? -1 : 1))[0];
}

function sumPrices({ prices }: Deployment): bigint {
  return prices === null ? 0n : prices.prompt + prices.completion;
}
