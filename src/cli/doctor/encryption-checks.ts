import { countSecretsSealedBy, openConfiguredVault } from "../../app/index.ts";
import type { DatabaseCheckGroup, DoctorCheck } from "./doctor-check.ts";

/** Which encryption key the stored provider keys and webhook secrets are encrypted with. */
export const encryptionChecks: DatabaseCheckGroup = async ({ config }, backend) => {
  const { connectionStore, webhookSecrets } = backend;
  let vault: ReturnType<typeof openConfiguredVault>;
  try {
    vault = openConfiguredVault(config);
  } catch (fault) {
    return [{ id: ID, level: "problem", detail: (fault as Error).message }];
  }
  if (vault === undefined) {
    const [key] = await connectionStore.listSealed("", 1);
    const [secret] = await webhookSecrets.listSealed("", 1);
    if (key === undefined && secret === undefined) return [];
    const stored = key === undefined ? "webhook secrets" : "provider keys";
    const detail = `${stored} are stored and encryption_key (TM_ENCRYPTION_KEY) is not set`;
    return [{ id: ID, level: "problem", detail }];
  }
  return [checkOf(await countSecretsSealedBy(backend, vault), vault.keyNames)];
};

const ID = "encryption keys";

function checkOf(
  counts: ReadonlyMap<string, number>,
  [first = ""]: readonly string[],
): DoctorCheck {
  const listed = [...counts].map(([name, rows]) => `${name}: ${rows}`).join(", ");
  const found = `stored provider keys and webhook secrets by encryption key: ${listed}`;
  if ((counts.get("unknown") ?? 0) > 0) {
    const next = "add the key that the unknown ones were stored with to encryption_key";
    return { id: ID, level: "problem", detail: `${found}; ${next}` };
  }
  const total = [...counts.values()].reduce((sum, rows) => sum + rows, 0);
  if (total === counts.get(first)) return { id: ID, level: "ok", detail: found };
  const next = "run `tokenmarket connection reseal` before another key is removed";
  return { id: ID, level: "warning", detail: `${found}; ${next}` };
}
