import { readFileSync } from "node:fs";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";

import type { ConnectionCheck } from "../account/index.ts";
import { type Catalog, ownKeyDeployment } from "../catalog/index.ts";
import { wires } from "../formats/index.ts";
import type { KeyVault, StoredConnection } from "../gateway/index.ts";
import { asText, type Config, Fault, readByProvider } from "../kernel/index.ts";
import { type Outbound, type OutboundRoute, UpstreamClient } from "../upstream/index.ts";
import { ownKeyOpener } from "./open-key-vault.ts";

/**
 * Sends one request with the connection's key, to learn whether the key works. Returns undefined if
 * the catalog lacks the provider. Throws a `SealedKeyFault` if the key cannot be decrypted.
 */
export async function checkConnection(
  connection: StoredConnection,
  deps: { readonly catalog: Catalog; readonly config: Config; readonly vault: KeyVault },
): Promise<ConnectionCheck | undefined> {
  const { catalog, config, vault } = deps;
  const { providerId, sealedKey } = connection;
  const listed = catalog.deployments.find((each) => each.providerId === providerId);
  if (listed === undefined) return undefined;
  // A key that cannot be decrypted must not be reported as a failure of the provider.
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
    return { verdict: "unreachable", reason: describeFault(fault) };
  } finally {
    await client.close();
  }
}

export function keyVerdict(status: number): "accepted" | "refused" | "unclear" {
  if (status >= 200 && status < 300) return "accepted";
  return status === 401 || status === 402 || status === 403 ? "refused" : "unclear";
}

const ANSWER_TIMEOUT_MS = 10_000;

function describeFault(fault: unknown): string {
  if (!(fault instanceof Error)) return "unknown";
  if (fault.name === "TimeoutError") return `no answer in ${ANSWER_TIMEOUT_MS / 1000} seconds`;
  return asText(Reflect.get(fault, "code")) ?? fault.message;
}

class OutboundFault extends Fault {}

type UpstreamSetting = Extract<keyof Config, `upstream${string}`>;

export function readOutbound(config: Pick<Config, UpstreamSetting>): Outbound {
  const proxy = readByProvider(config.upstreamProxy);
  const ca = readByProvider(config.upstreamCaFile);
  const cert = readByProvider(config.upstreamCertFile);
  const key = readByProvider(config.upstreamKeyFile);
  const buildRoute = (providerId?: string): OutboundRoute => {
    const of = ({ all, byProvider }: ReturnType<typeof readByProvider>): string =>
      providerId === undefined ? all : (byProvider.get(providerId) ?? all);
    const files = { caFile: of(ca), certFile: of(cert), keyFile: of(key) };
    return {
      proxy: of(proxy),
      secureContext: buildContext(files),
      trustOnly: buildContext({ caFile: files.caFile, certFile: "", keyFile: "" }),
    };
  };
  const named = [proxy, ca, cert, key].flatMap(({ byProvider }) => [...byProvider.keys()]);
  return {
    idleMs: config.upstreamIdleMs,
    noProxy: config.upstreamNoProxy,
    all: buildRoute(),
    byProvider: new Map(named.map((providerId) => [providerId, buildRoute(providerId)])),
  };
}

type TlsFiles = Readonly<Record<"caFile" | "certFile" | "keyFile", string>>;

function buildContext({ caFile, certFile, keyFile }: TlsFiles): SecureContext | undefined {
  if (caFile === "" && certFile === "" && keyFile === "") return undefined;
  if ((certFile === "") !== (keyFile === "")) {
    throw new OutboundFault(
      "upstreams.client_cert_file and upstreams.client_key_file need each other",
    );
  }
  try {
    return createSecureContext({
      ...(caFile !== "" && { ca: [...rootCertificates, readFileSync(caFile, "utf8")] }),
      ...(certFile !== "" && { cert: readFileSync(certFile), key: readFileSync(keyFile) }),
    });
  } catch (fault) {
    const files = [caFile, certFile, keyFile].filter((file) => file !== "").join(", ");
    const { code = "not valid PEM" } = fault as NodeJS.ErrnoException;
    throw new OutboundFault(`a file of upstreams.* cannot be used (${code}): ${files}`);
  }
}
