import { readFileSync } from "node:fs";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";

import { type Config, readByProvider } from "../kernel/index.ts";
import type { Outbound, OutboundRoute } from "../upstream/index.ts";

/** A file that the connections to providers need cannot be used. */
class OutboundFault extends Error {
  override readonly name = "OutboundFault";
}

/** How the settings say that providers are reached; reads the files that they name. */
export function readOutbound(
  config: Pick<
    Config,
    | "upstreamIdleMs"
    | "upstreamProxy"
    | "upstreamNoProxy"
    | "upstreamCaFile"
    | "upstreamCertFile"
    | "upstreamKeyFile"
  >,
): Outbound {
  const proxy = readByProvider(config.upstreamProxy);
  const ca = readByProvider(config.upstreamCaFile);
  const cert = readByProvider(config.upstreamCertFile);
  const key = readByProvider(config.upstreamKeyFile);
  const routeOf = (providerId?: string): OutboundRoute => {
    const of = ({ all, byProvider }: ReturnType<typeof readByProvider>): string =>
      providerId === undefined ? all : (byProvider.get(providerId) ?? all);
    const files = { caFile: of(ca), certFile: of(cert), keyFile: of(key) };
    return {
      proxy: of(proxy),
      secureContext: contextOf(files),
      trustOnly: contextOf({ caFile: files.caFile, certFile: "", keyFile: "" }),
    };
  };
  const named = [proxy, ca, cert, key].flatMap(({ byProvider }) => [...byProvider.keys()]);
  return {
    idleMs: config.upstreamIdleMs,
    noProxy: config.upstreamNoProxy,
    all: routeOf(),
    byProvider: new Map(named.map((providerId) => [providerId, routeOf(providerId)])),
  };
}

interface TlsFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** Undefined: nothing but the usual authorities. */
function contextOf({ caFile, certFile, keyFile }: TlsFiles): SecureContext | undefined {
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
