import type { KeyVault, StoredConnection } from "../gateway/index.ts";
import { type Catalog, ownKeyDeployment } from "../catalog/index.ts";
import type { Config } from "../kernel/index.ts";
import { UpstreamClient } from "../upstream/index.ts";
import { wires } from "../formats/index.ts";
import { ownKeyOpener } from "./open-key-vault.ts";
import { readOutbound } from "./read-outbound.ts";

export type KeyVerdict = "accepted" | "refused" | "unclear";

export type ConnectionCheck =
  | { readonly verdict: KeyVerdict; readonly status: number }
  /** `reason` is a code such as ECONNREFUSED, or a text. */
  | { readonly verdict: "unreachable"; readonly reason: string };

/**
 * Asks the provider once with the connection's key, by the way that calls take. Undefined: the
 * catalog has no such provider. Throws a `SealedKeyFault` when the key does not open.
 */
export async function checkConnection(
  connection: StoredConnection,
  deps: { readonly catalog: Catalog; readonly config: Config; readonly vault: KeyVault },
): Promise<ConnectionCheck | undefined> {
  const { catalog, config, vault } = deps;
  const { providerId, sealedKey } = connection;
  const listed = catalog.deployments.find((each) => each.providerId === providerId);
  if (listed === undefined) return undefined;
  // Before the provider is asked: a key that cannot be decrypted is not the provider's fault.
  vault.open(sealedKey, connection);
  const client = new UpstreamClient({
    allowPrivateUpstreams: config.allowPrivateUpstreams,
    providerKey: () => undefined,
    openKey: ownKeyOpener(vault),
    outbound: readOutbound(config),
  });
  try {
    const deployment = ownKeyDeployment(listed, connection);
    const { keyCheck } = wires.get(deployment.wire);
    const status = await client.checkKey(deployment, keyCheck, ANSWER_TIMEOUT_MS);
    return { verdict: keyVerdict(status), status };
  } catch (fault) {
    return { verdict: "unreachable", reason: reasonOf(fault) };
  } finally {
    await client.close();
  }
}

/** What the status of the answer says about the key. */
export function keyVerdict(status: number): KeyVerdict {
  if (status >= 200 && status < 300) return "accepted";
  return status === 401 || status === 402 || status === 403 ? "refused" : "unclear";
}

const ANSWER_TIMEOUT_MS = 10_000;

function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return "unknown";
  if (fault.name === "TimeoutError") return `no answer in ${ANSWER_TIMEOUT_MS / 1000} seconds`;
  return "code" in fault && typeof fault.code === "string" ? fault.code : fault.message;
}
