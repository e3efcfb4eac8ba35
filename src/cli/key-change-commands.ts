import type { Command } from "commander";

import type { KeySummary } from "../accounts/index.ts";
import { KEY_MODELS_MAX } from "../core/index.ts";
import {
  answering,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { noSuchKey, shownKey } from "./key-answers.ts";
import { readCatalog } from "./read-catalog.ts";
import { readLater } from "./read-instant.ts";

/** `key expiry`, `key models`: what a key that is there may do from now on. */
export function addKeyChangeCommands(key: Command, context: CommandContext): void {
  onStoredData(key.command("expiry <key_id>"))
    .description("set when a key expires, or remove its expiry; an expired key works again")
    .option("--at <instant>", "refuse it from then on, such as 2027-01-31T00:00:00Z")
    .option("--never", "remove the expiry")
    .action(
      answering(context, (keyId: string, flags: Flags) => {
        const expiresAtMs = readExpiry(flags);
        return withBackend(context, flags, async ({ accountStore }, by) => {
          const [changed] =
            (await accountStore.editKeys("anyone", [keyId], { expiresAtMs }, by)) ?? [];
          if (changed === undefined) throw noSuchKey(keyId);
          return { json: shownKey(changed), text: expiryText(changed) };
        });
      }),
    );
  onStoredData(key.command("models <key_id>"))
    .description("set which models a key may call; any other is not listed for it")
    .option("--only <ids>", "ids of the models, with commas between them")
    .option("--all", "every model")
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .action(
      answering(context, (keyId: string, flags: Flags) => {
        const models = readModels(context, flags);
        return withBackend(context, flags, async ({ accountStore }, by) => {
          const [changed] = (await accountStore.editKeys("anyone", [keyId], { models }, by)) ?? [];
          if (changed === undefined) throw noSuchKey(keyId);
          return { json: shownKey(changed), text: modelsText(changed) };
        });
      }),
    );
}

/** Null: never. */
function readExpiry({ at, never }: Flags): number | null {
  if ((at === undefined) === (never !== true)) {
    throw new UsageFault("specify either --at <instant> or --never");
  }
  return at === undefined ? null : readLater(String(at), "--at");
}

/** Null: every model. An id that no manifest lists is refused: a slip would stop the key's calls. */
function readModels(context: CommandContext, flags: Flags): readonly string[] | null {
  const { only, all } = flags;
  if ((only === undefined) === (all !== true)) {
    throw new UsageFault("specify either --only <ids> or --all");
  }
  if (only === undefined) return null;
  const ids = [
    ...new Set(
      String(only)
        .split(",")
        .map((id) => id.trim()),
    ),
  ].filter(Boolean);
  if (ids.length === 0)
    throw new UsageFault("--only needs the id of a model; --all allows every one");
  if (ids.length > KEY_MODELS_MAX)
    throw new UsageFault(`--only takes at most ${KEY_MODELS_MAX} ids`);
  const config = readConfig(context, flags);
  const { deployments } = readCatalog(context, config);
  const listed = new Set<string>(deployments.map(({ modelId }) => modelId));
  const unknown = ids.find((id) => !listed.has(id));
  if (unknown === undefined) return ids;
  throw new UsageFault(
    `there is no model ${unknown} in ${config.manifestsDir}; name the folder of the server with --manifests`,
  );
}

function expiryText({ keyId, expiresAtMs }: KeySummary): string {
  return expiresAtMs === null
    ? `${keyId} never expires`
    : `${keyId} expires at ${new Date(expiresAtMs).toISOString()}`;
}

function modelsText({ keyId, models }: KeySummary): string {
  return `${keyId} may call ${models === null ? "every model" : models.join(", ")}`;
}
