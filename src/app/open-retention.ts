import type { KeyObject } from "node:crypto";
import { join } from "node:path";

import type { Config, SigningKey } from "../kernel/index.ts";
import { DayFolder, openSigningKey, readPublicKey } from "../ledger/index.ts";

/** Opens the folder of days exported from the journal. Default: `retired` in the data folder. */
export function openDayArchive(config: Config, folder?: string): DayFolder {
  return new DayFolder(folder ?? join(config.dataDir, "retired"));
}

/** Opens the key that signs exports. Creates it if its file does not exist. */
export function openExportKey(config: Config): SigningKey {
  return openSigningKey(keyFile(config));
}

/** The public key to check an export with. Default: that of this installation. */
export function readExportKey(config: Config, file?: string): KeyObject | undefined {
  return readPublicKey(file ?? keyFile(config));
}

function keyFile(config: Config): string {
  return config.retentionSigningKeyFile || join(config.dataDir, "retention-signing-key.pem");
}
