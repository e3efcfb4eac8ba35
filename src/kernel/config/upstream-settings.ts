import { integer, text } from "./setting.ts";

const BY_PROVIDER = "For some providers: `provider=value` pairs after it, separated by commas.";

/** Empty too: there is none. */
const NAME_SERVER = /^((\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d{1,5})?|[\da-f]*:[\da-f:.]+)?$/i;

/** How providers are reached. */
export const UPSTREAM_SETTINGS = {
  upstreamIdleMs: integer(
    "timeouts.upstream_idle_ms",
    4_000,
    1,
    "How long an unused connection to a provider is kept; a `keep-alive` header of the provider " +
      "shortens it.",
  ),
  upstreamProxy: text(
    "upstreams.proxy",
    "",
    "Address of a proxy (`http://` or `https://`, with user name and password where it needs them) " +
      `through which providers with \`https:\` addresses are reached. ${BY_PROVIDER} An empty value: ` +
      "without a proxy.",
    {
      alsoEnv: ["HTTPS_PROXY"],
      secret: true,
      problem: (value) => {
        const { all, byProvider } = readByProvider(value);
        const addresses = [all, ...byProvider.values()].filter((each) => each !== "");
        return addresses.every((each) => /^https?:\/\/./.test(each) && URL.canParse(each))
          ? undefined
          : "must be addresses of proxies, such as http://proxy.example:3128";
      },
    },
  ),
  upstreamNoProxy: text(
    "upstreams.no_proxy",
    "",
    "Hosts and domains, separated by commas, that are reached without the proxy; `*`: all.",
    { alsoEnv: ["NO_PROXY"] },
  ),
  upstreamCaFile: text(
    "upstreams.ca_file",
    "",
    `PEM file of authorities that are trusted in addition to the usual ones. ${BY_PROVIDER}`,
  ),
  upstreamCertFile: text(
    "upstreams.client_cert_file",
    "",
    `PEM file of the certificate that is shown to providers that ask for one. ${BY_PROVIDER}`,
  ),
  upstreamKeyFile: text(
    "upstreams.client_key_file",
    "",
    `PEM file of the private key of \`upstreams.client_cert_file\`, not encrypted. ${BY_PROVIDER}`,
  ),
  webhookNameServers: text(
    "webhooks.name_servers",
    "",
    "Addresses of name servers, separated by commas, that are asked for the names in customers' " +
      "webhook addresses. Empty: those of the system.",
    {
      problem: (value) =>
        value.split(",").every((each) => NAME_SERVER.test(each.trim()))
          ? undefined
          : "must be IP addresses, each with a port where it is not 53",
    },
  ),
};

/** Reads `value,provider=value,…`. */
export function readByProvider(value: string): {
  readonly all: string;
  readonly byProvider: ReadonlyMap<string, string>;
} {
  let all = "";
  const byProvider = new Map<string, string>();
  for (const part of value.split(",")) {
    const [, provider, own = ""] = /^\s*([a-z0-9][a-z0-9-]*)=(.*)$/.exec(part) ?? [];
    if (provider !== undefined) byProvider.set(provider, own.trim());
    else if (part.trim() !== "") all = part.trim();
  }
  return { all, byProvider };
}
