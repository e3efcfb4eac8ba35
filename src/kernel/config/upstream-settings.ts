import { type ConfigOf, integer, text } from "./setting.ts";

const BY_PROVIDER = "For some providers: `provider=value` pairs after it, separated by commas.";

/** Matches an address of a name server, or the empty string, which sets no name server. */
const NAME_SERVER = /^((\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d{1,5})?|[\da-f]*:[\da-f:.]+)?$/i;

export const UPSTREAM_SETTINGS = {
  upstreamIdleMs: integer("timeouts.upstream_idle_ms", 4_000, {
    doc:
      "How long an unused connection to a provider is kept; a `keep-alive` header of the provider " +
      "shortens it.",
  }),
  upstreamProxy: text("upstreams.proxy", "", {
    doc:
      "Address of a proxy (`http://` or `https://`, with user name and password where it needs them) " +
      `through which providers with \`https:\` addresses are reached. ${BY_PROVIDER} Nothing ` +
      "after its `=`: that provider is reached directly, as all are without this and `HTTPS_PROXY`.",
    alsoEnv: ["HTTPS_PROXY"],
    secret: true,
    problem: (value) => {
      const repeated = findRepeated(value);
      if (repeated !== undefined) return repeated;
      const { all, byProvider } = readByProvider(value);
      const addresses = [all, ...byProvider.values()].filter((each) => each !== "");
      return addresses.every((each) => /^https?:\/\/./.test(each) && URL.canParse(each))
        ? undefined
        : "must be addresses of proxies, such as http://proxy.example:3128";
    },
  }),
  upstreamNoProxy: text("upstreams.no_proxy", "", {
    doc: "Hosts and domains, separated by commas, that are reached without the proxy; `*`: all.",
    alsoEnv: ["NO_PROXY"],
  }),
  upstreamCaFile: text("upstreams.ca_file", "", {
    doc: `PEM file of authorities that are trusted in addition to the usual ones. ${BY_PROVIDER}`,
    problem: findRepeated,
  }),
  upstreamCertFile: text("upstreams.client_cert_file", "", {
    doc: `PEM file of the certificate that is shown to providers that ask for one. ${BY_PROVIDER}`,
    problem: findRepeated,
  }),
  upstreamKeyFile: text("upstreams.client_key_file", "", {
    doc: `PEM file of the private key of \`upstreams.client_cert_file\`, not encrypted. ${BY_PROVIDER}`,
    problem: findRepeated,
  }),
  webhookNameServers: text("webhooks.name_servers", "", {
    doc:
      "Addresses of name servers, separated by commas, that are asked for the names in customers' " +
      "webhook addresses. Empty: those of the system.",
    problem: (value) =>
      value.split(",").every((each) => NAME_SERVER.test(each.trim()))
        ? undefined
        : "must be IP addresses, each with a port where it is not 53",
  }),
};

const OF_PROVIDER = /^\s*([a-z0-9][a-z0-9-]*)=(.*)$/;

function findRepeated(value: string): string | undefined {
  const parts = value.split(",").filter((part) => part.trim() !== "");
  const providers = new Set(parts.map((part) => OF_PROVIDER.exec(part)?.[1]));
  return providers.size === parts.length
    ? undefined
    : "must have one value for all providers at most, and one for each provider";
}

/** Parses `value,provider=value,…`. `all` applies to every provider without its own value. */
export function readByProvider(value: string): {
  readonly all: string;
  readonly byProvider: ReadonlyMap<string, string>;
} {
  let all = "";
  const byProvider = new Map<string, string>();
  for (const part of value.split(",")) {
    const [, provider, own = ""] = OF_PROVIDER.exec(part) ?? [];
    if (provider !== undefined) byProvider.set(provider, own.trim());
    else if (part.trim() !== "") all = part.trim();
  }
  return { all, byProvider };
}

export const TIMEOUT_SETTINGS = {
  streamHeadersTimeoutMs: integer("timeouts.stream_headers_ms", 20_000, {
    doc: "Maximum wait for a provider's response headers on a stream.",
  }),
  generationTimeoutMs: integer("timeouts.generation_ms", 450_000, {
    doc: "Maximum duration of an answer that is not streamed or whose client has disconnected.",
  }),
  streamIdleTimeoutMs: integer("timeouts.stream_idle_ms", 120_000, {
    doc: "Maximum time without data from a provider inside a stream.",
  }),
  routingTimeoutMs: integer("timeouts.routing_ms", 450_000, {
    doc: "Time in which another deployment may still be tried.",
  }),
  firstContentTimeoutMs: integer("timeouts.first_content_ms", 450_000, {
    doc: "Maximum wait for a stream's first content; comments and empty events do not extend it.",
  }),
  streamTotalMs: integer("timeouts.stream_total_ms", 3_600_000, {
    doc: "Maximum duration of a stream with a connected client; it then ends with an error.",
  }),
  commitSilenceMs: integer("timeouts.commit_silence_ms", 45_000, {
    min: 0,
    doc:
      "Time after which a stream that its provider has accepted is started without content, so that " +
      "no proxy closes it; from then on no other provider is tried. 0: never.",
  }),
  keepaliveMs: integer("timeouts.keepalive_ms", 10_000, {
    doc: "Time without data after which a keep-alive is sent on a client's open stream.",
  }),
  videoAcceptTimeoutMs: integer("timeouts.video_accept_ms", 60_000, {
    doc: "Maximum wait until a provider accepts a video job.",
  }),
  decisionsTimeoutMs: integer("timeouts.decisions_ms", 60_000, {
    doc: "Maximum wait for a decision.",
  }),
};

export type TimeoutConfig = ConfigOf<typeof TIMEOUT_SETTINGS>;
