import { countSealedBy } from "../../accounts/index.ts";
import { openConfiguredVault } from "../../app/index.ts";
import type { DatabaseCheckGroup, DoctorCheck } from "./doctor-check.ts";

/** Which encryption key the stored provider keys are encrypted with. */
export const encryptionChecks: DatabaseCheckGroup = async ({ config }, { connectionStore }) => {
  let vault: ReturnType<typeof openConfiguredVault>;
  try {
    vault = openConfiguredVault(config);
  } catch (fault) {
    return [{ id: ID, level: "problem", detail: (fault as Error).message }];
  }
  if (vault === undefined) {
    const [stored] = await connectionStore.listSealed("", 1);
    if (stored === undefined) return [];
    const detail = "provider keys are stored and encryption_key (TM_ENCRYPTION_KEY) is not set";
    return [{ id: ID, level: "problem", detail }];
  }
  return [checkOf(await countSealedBy(connectionStore, vault), vault.keyNames)];
};

const ID = "encryption keys";

function checkOf(
  counts: ReadonlyMap<string, number>,
  [first = ""]: readonly string[],
): DoctorCheck {
  const listed = [...counts].map(([name, rows]) => `${name}: ${rows}`).join(", ");
  const found = `stored provider keys by encryption key: ${listed}`;
  if ((counts.get("unknown") ?? 0) > 0) {
    const next = "add the key that the unknown ones were stored with to encryption_key";
    return { id: ID, level: "problem", detail: `${found}; ${next}` };
  }
  const total = [...counts.values()].reduce((sum, rows) => sum + rows, 0);
  if (total === counts.get(first)) return { id: ID, level: "ok", detail: found };
  const next = "run `tokenmarket connection reseal` before another key is removed";
  return { id: ID, level: "warning", detail: `${found}; ${next}` };
}
