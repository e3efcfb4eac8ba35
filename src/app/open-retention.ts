import type { KeyObject } from "node:crypto";
import { join } from "node:path";

import type { Config } from "../kernel/index.ts";
import { DayFolder, openSigningKey, readPublicKey, type SigningKey } from "../ledger/index.ts";

/** Where exported days are kept: the folder that was named, or `retired` in the data folder. */
export function openDayArchive(config: Config, folder?: string): DayFolder {
  return new DayFolder(folder ?? join(config.dataDir, "retired"));
}

/** The key that signs exports; made at its first use. */
export function openExportKey(config: Config): SigningKey {
  return openSigningKey(keyFile(config));
}

/** The key to compare an export with: of the file that was named, or this installation's own. */
export function readExportKey(config: Config, file?: string): KeyObject | undefined {
  return readPublicKey(file ?? keyFile(config));
}

function keyFile(config: Config): string {
  return config.retentionSigningKeyFile || join(config.dataDir, "retention-signing-key.pem");
}
