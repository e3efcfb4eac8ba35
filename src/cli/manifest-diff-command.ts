import type { Command } from "commander";

import type { Manifest } from "../catalog/index.ts";
import { floorToMicroUsd, formatUsd, picoUsd, type PicoUsd } from "../kernel/index.ts";
import {
  costOfTraffic,
  diffManifests,
  type TrafficCost,
  type UseCost,
} from "../listing-tools/index.ts";
import {
  answering,
  clock,
  type CommandAnswer,
  type Flags,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { describeDifference } from "./describe-difference.ts";
import { manifestOfProvider, readManifestFile, type ReadManifest } from "./manifest-files.ts";
import { readWhole } from "./read-flags.ts";

/** A sum of days is kept this long at most, and a report may take ten seconds. */
const TRAFFIC_DAYS = { min: 1, max: 366 };
const DAY_MS = 86_400_000;

/** `manifest diff OLD [NEW] [--traffic DAYS]` */
export function addManifestDiffCommand(manifest: Command, context: CommandContext): void {
  onStoredData(manifest.command("diff <old> [new]"))
    .description(
      "compare two manifests of a provider by model and price, the second one by default the manifests folder's; exit 1 when any client pays more or something leaves",
    )
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .option("--traffic <days>", "price the tokens of so many last days at both (1 to 366)")
    .action(
      answering(context, (old: string, next: string | undefined, flags: Flags) =>
        compare(context, { old, next, flags }),
      ),
    );
}

async function compare(
  context: CommandContext,
  asked: { readonly old: string; readonly next: string | undefined; readonly flags: Flags },
): Promise<CommandAnswer> {
  const days = readWhole(asked.flags, "traffic", TRAFFIC_DAYS);
  const before = readManifestFile(asked.old);
  const { provider } = before.manifest;
  const after =
    asked.next === undefined
      ? manifestOfProvider(readConfig(context, asked.flags).manifestsDir, provider.id)
      : readManifestFile(asked.next);
  if (after.manifest.provider.id !== provider.id) {
    throw new UsageFault(
      `${before.file} is of ${provider.id} and ${after.file} of ${after.manifest.provider.id}: ` +
        "name two manifests of one provider",
    );
  }
  const nowMs = clock.nowMs();
  const difference = diffManifests(before.manifest, after.manifest, nowMs);
  const files = { old: before.file, new: after.file };
  const traffic =
    days === undefined
      ? undefined
      : await priceTraffic(context, { before, after, days, nowMs, flags: asked.flags });
  const { ok } = difference;
  return {
    json: { ...difference, files, ...(traffic === undefined ? {} : { traffic: shown(traffic) }) },
    text: [
      ...describeDifference(difference, files),
      ...(traffic === undefined ? [] : describeTraffic(traffic)),
    ].join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

interface Traffic {
  readonly days: number;
  readonly fromDay: string;
  readonly cost: TrafficCost;
}

async function priceTraffic(
  context: CommandContext,
  asked: {
    readonly before: ReadManifest;
    readonly after: ReadManifest;
    readonly days: number;
    readonly nowMs: number;
    readonly flags: Flags;
  },
): Promise<Traffic> {
  const { before, after, days, nowMs, flags } = asked;
  // Today is the last of them.
  const fromDay = new Date(nowMs - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const manifests: { before: Manifest; after: Manifest } = {
    before: before.manifest,
    after: after.manifest,
  };
  let cost: TrafficCost | undefined;
  await withBackend(context, flags, async (backend) => {
    const providerId = manifests.after.provider.id;
    const uses = await backend.listingTraffic({ providerId, fromDay });
    cost = costOfTraffic(uses, { ...manifests, nowMs });
    return { json: {}, text: "" };
  });
  if (cost === undefined) throw new UsageFault("the traffic could not be read");
  return { days, fromDay, cost };
}

/** Sums are exact until here; each is rounded once. */
function shown({ days, fromDay, cost }: Traffic): object {
  return {
    days,
    from_day: fromDay,
    organizations: cost.organizations.map(({ orgId, ...each }) => ({
      org_id: orgId,
      ...presentCost(each),
    })),
    total: presentCost(cost.total),
    not_priced: cost.notPriced,
    at_lowest_tier: cost.tiered,
  };
}

function presentCost({ old, new: next, later }: UseCost) {
  return {
    old_usd: formatPicoUsd(old),
    new_usd: formatPicoUsd(next),
    more_usd: formatPicoUsd(picoUsd(next - old)),
    later_usd: formatPicoUsd(later),
    more_later_usd: formatPicoUsd(picoUsd(later - old)),
  };
}

function formatPicoUsd(amount: PicoUsd): string {
  return formatUsd(floorToMicroUsd(amount));
}

const SHOWN_ORGS_MAX = 20;

function describeTraffic({ days, fromDay, cost }: Traffic): readonly string[] {
  const { organizations, total, notPriced, tiered } = cost;
  const line = (name: string, each: UseCost): string => {
    const usd = presentCost(each);
    const announced = `${usd.later_usd} with what is announced (${usd.more_later_usd} more)`;
    return `  ${name}: ${usd.old_usd} → ${usd.new_usd} USD (${usd.more_usd} more), ${announced}`;
  };
  const rest = organizations.length - SHOWN_ORGS_MAX;
  return [
    `the tokens of ${days} days, from ${fromDay}, of ${organizations.length} organizations:`,
    line("together", total),
    ...organizations.slice(0, SHOWN_ORGS_MAX).map((each) => line(each.orgId, each)),
    ...(rest > 0 ? [`  and ${rest} more; --json has all of them`] : []),
    ...(notPriced.length > 0
      ? [`  used, and priced by one of the two only, so not counted: ${notPriced.join(", ")}`]
      : []),
    ...(tiered.length > 0
      ? [`  priced by prompt size, counted at the lowest tier: ${tiered.join(", ")}`]
      : []),
  ];
}
