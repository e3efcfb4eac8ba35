import type { Command } from "commander";

import { openConfiguredVault, resealSecrets } from "../app/index.ts";
import {
  answering,
  type CommandAnswer,
  type Flags,
  onStoredData,
  readConfig,
  UsageFault,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/** `connection reseal` */
export function addConnectionReseal(connection: Command, context: CommandContext): void {
  onStoredData(connection.command("reseal"))
    .description(
      "encrypt every stored provider key and webhook secret with the first encryption_key, while calls go on; exit 1 when one cannot be decrypted",
    )
    .action(answering(context, (flags: Flags) => reseal(context, flags)));
}

async function reseal(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const vault = openConfiguredVault(readConfig(context, flags));
  if (vault === undefined) {
    throw new UsageFault(
      "encryption_key (TM_ENCRYPTION_KEY) is not set: there is no key to encrypt with",
    );
  }
  return await withBackend(context, flags, async (backend, by) => {
    const { resealed, kept, unopened } = await resealSecrets(backend, vault, by);
    const done =
      `${resealed} stored keys and webhook secrets encrypted with the first encryption key, ` +
      `${kept} were before`;
    const broken =
      unopened.length === 0
        ? ""
        : `\nnot decrypted by any key of encryption_key: ${unopened.join(", ")}; add the key that ` +
          "they were stored with and repeat this, or disable them (rotate the secret of a webhook)";
    return {
      json: { ok: unopened.length === 0, resealed, kept, not_decrypted: unopened },
      text: done + broken,
      exitCode: unopened.length === 0 ? 0 : 1,
    };
  });
}
