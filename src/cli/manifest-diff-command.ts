import type { Command } from "commander";

import { diffManifests } from "../listing-tools/index.ts";
import {
  CONFIG_OPTION,
  JSON_OPTION,
  MANIFESTS_OPTION,
  answering,
  clock,
  type CommandAnswer,
  type Flags,
  readConfig,
  UsageFault,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { describeDifference } from "./describe-difference.ts";
import { manifestOfProvider, readManifestFile } from "./manifest-files.ts";

export function addManifestDiffCommand(manifest: Command, context: CommandContext): void {
  manifest
    .command("diff <old> [new]")
    .description(
      "compare two manifests of a provider by model and price, the second one by default the manifests folder's; exit 1 when any client pays more or something leaves",
    )
    .option(...MANIFESTS_OPTION)
    .option(...CONFIG_OPTION)
    .option(...JSON_OPTION)
    .action(
      answering(context, (old: string, next: string | undefined, flags: Flags) =>
        compare(context, { old, next, flags }),
      ),
    );
}

function compare(
  context: CommandContext,
  asked: { readonly old: string; readonly next: string | undefined; readonly flags: Flags },
): CommandAnswer {
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
  const difference = diffManifests(before.manifest, after.manifest, clock.nowMs());
  const files = { old: before.file, new: after.file };
  return {
    json: { ...difference, files },
    text: describeDifference(difference, files).join("\n"),
    exitCode: difference.ok ? 0 : 1,
  };
}
