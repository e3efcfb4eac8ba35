import { compileCatalog, type Deployment, parseManifestFiles } from "../../catalog/index.ts";
import type { Wire } from "../../formats/index.ts";
import {
  asObject,
  assert,
  type Clock,
  Deadlines,
  defined,
  textOf,
  tryParse,
} from "../../kernel/index.ts";
import {
  fetchAnswer,
  type FetchInput,
  type Outbound,
  UpstreamClient,
} from "../../upstream/index.ts";

export interface EndpointAddress {
  /** Up to and including the version segment, such as `/v1`. */
  readonly baseUrl: string;
  /** Sent only to the origin of `baseUrl`. Absent if the endpoint needs no key. */
  readonly key?: string;
  /** How the endpoint deviates from its wire, as its manifest states it. */
  readonly wireProfile?: object;
}

export interface AskDeps {
  readonly clock: Clock;
  readonly allowPrivateUpstreams: boolean;
  /** Proxies and certificates. Default: direct connections. */
  readonly outbound?: Outbound;
}

/** `path` is added to the base address (`base`), or to it without its version segment (`root`). */
export interface EndpointQuestion {
  readonly from: "base" | "root";
  readonly path: string;
  readonly wire: Wire;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly timeoutMs?: number;
}

export type EndpointAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly json: unknown }
  /** `reason` never contains text that the endpoint sent. */
  | { readonly kind: "silent"; readonly isPrivate: boolean; readonly reason: string };

const ANSWER_TIMEOUT_MS = 15_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** Sends requests to one endpoint through the code that sends customers' calls. Must be closed. */
export class EndpointAsker {
  readonly #client: UpstreamClient;
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;
  readonly #address: EndpointAddress;

  constructor(address: EndpointAddress, { clock, allowPrivateUpstreams, outbound }: AskDeps) {
    this.#address = address;
    this.#clock = clock;
    this.#deadlines = new Deadlines(clock);
    this.#client = new UpstreamClient({
      allowPrivateUpstreams,
      ...(outbound && { outbound }),
      providerKey: () => address.key,
    });
  }

  /** Never rejects: a fault of the endpoint is an answer of the kind `silent`. */
  async ask(question: EndpointQuestion): Promise<EndpointAnswer> {
    const { from, path, wire, headers = {}, body, timeoutMs = ANSWER_TIMEOUT_MS } = question;
    const deployment = this.#deploymentFor(wire, from);
    let fault: Error | undefined;
    const noted = (handler: Handler): Handler =>
      notingFaults(handler, (error) => {
        fault ??= error;
      });
    const run = fetchAnswer({
      clock: this.#clock,
      deadlines: this.#deadlines,
      totalMs: timeoutMs,
      bytesMax: ANSWER_BYTES_MAX,
      send: (handler) => {
        if (body === undefined) this.#client.get(deployment, { path, headers }, noted(handler));
        else this.#client.send(deployment, posted(path, headers, body), noted(handler));
      },
    });
    const answer = await run.ended;
    if (answer === undefined) return silence(fault, timeoutMs);
    return { kind: "answer", status: answer.status, json: tryParse(answer.body.toString())?.value };
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #deploymentFor(wire: Wire, from: EndpointQuestion["from"]): Deployment {
    const { baseUrl, key, wireProfile } = this.#address;
    const address = from === "base" ? baseUrl : stripVersion(baseUrl);
    return buildDeployment(wire, address, { hasKey: key !== undefined, wireProfile });
  }
}

/** Removes the version segment: `http://gpu:8000/v1` becomes `http://gpu:8000`. */
export function stripVersion(baseUrl: string): string {
  return baseUrl.replace(/\/+$/, "").replace(/\/v\d+$/, "");
}

/** Makes a deployment for the client, which needs one even before a manifest exists. */
function buildDeployment(wire: Wire, baseUrl: string, asked: Asked): Deployment {
  const text = renderManifest(wire, baseUrl, asked);
  const files = parseManifestFiles([{ file: "survey", text }]);
  assert(files.ok, "the address of a survey is one that a manifest can have");
  const { manifests } = files;
  const compiled = compileCatalog({ manifests, hasKey: () => true, today: "2000-01-01" });
  const [deployment] = compiled.ok ? compiled.catalog.deployments : [];
  assert(deployment !== undefined, "a manifest with one model has one deployment");
  return deployment;
}

/** Why a manifest cannot have this address; undefined if it can. */
export function addressProblem(baseUrl: string, wire: Wire): string | undefined {
  const files = parseManifestFiles([{ file: "", text: renderManifest(wire, baseUrl, NOTHING) }]);
  return files.ok ? undefined : files.issues[0]?.message;
}

interface Asked {
  readonly hasKey: boolean;
  readonly wireProfile: object | undefined;
}

const NOTHING: Asked = { hasKey: false, wireProfile: undefined };

function renderManifest(wire: Wire, baseUrl: string, { hasKey, wireProfile }: Asked): string {
  return JSON.stringify({
    manifest_version: "1",
    provider: {
      id: "surveyed",
      name: "surveyed",
      privacy_policy_url: "https://example.com",
      prompt_logging: "none",
    },
    endpoint: {
      base_url: baseUrl,
      dialect: wire.id,
      ...(hasKey && { api_key_env: "SURVEYED_KEY" }),
    },
    settlement: { mode: "arrears", interval: "monthly" },
    ...defined({ wire_profile: wireProfile }),
    models: [
      {
        id: "surveyed",
        context_length: 1,
        streaming: true,
        pricing: [
          { type: "prompt", unit: "token", cost_usd_per_million: "0" },
          { type: "completion", unit: "token", cost_usd_per_million: "0" },
        ],
      },
    ],
  });
}

function posted(path: string, headers: Readonly<Record<string, string>>, body: object) {
  return {
    path,
    headers: { "content-type": "application/json", ...headers },
    body: Buffer.from(JSON.stringify(body)),
    droppedParams: [],
  };
}

type Handler = Parameters<FetchInput["send"]>[0];

function notingFaults(handler: Handler, note: (error: Error) => void): Handler {
  return {
    onRequestStart: (...given) => handler.onRequestStart?.(...given),
    onResponseStart: (...given) => handler.onResponseStart?.(...given),
    onResponseData: (...given) => handler.onResponseData?.(...given),
    onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
    onResponseError: (controller, error) => {
      note(error);
      handler.onResponseError?.(controller, error);
    },
    onRefused: (error) => {
      note(error);
      handler.onRefused(error);
    },
  };
}

function silence(fault: Error | undefined, timeoutMs: number): EndpointAnswer {
  const code = textOf(((fault ?? {}) as { readonly code?: unknown }).code);
  if (code === "PRIVATE_ADDRESS") {
    return { kind: "silent", isPrivate: true, reason: "its address is private" };
  }
  const reason = /^[A-Z][A-Z0-9_]{2,63}$/.test(code)
    ? code
    : `no whole answer within ${timeoutMs / 1000} s and ${ANSWER_BYTES_MAX / 1024 / 1024} MiB`;
  return { kind: "silent", isPrivate: false, reason };
}

export interface WireTrial {
  readonly wireId: string;
  readonly answers: boolean;
  readonly seen: string;
}

/** Longer than for other requests: the server may first have to load the model. */
const PROBE_TIMEOUT_MS = 120_000;

/** Requests one token on the wire, and checks that the answer has the form of the wire. */
export async function probeWire(
  asker: EndpointAsker,
  wire: Wire,
  upstreamId: string,
): Promise<WireTrial> {
  const questions = wire.providerQuestions;
  if (questions === undefined) return trial(wire, false, "this wire has no questions of its own");
  const answer = await asker.ask({
    from: "base",
    wire,
    path: wire.requests.path,
    headers: wire.requests.headers([]),
    body: { model: upstreamId, ...questions.writeBody({ text: "Hi", maxTokens: 1 }) },
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  if (answer.kind === "silent") return trial(wire, false, answer.reason);
  const { status, json } = answer;
  if (status < 200 || status >= 300) return trial(wire, false, `status ${status}`);
  const { flaws, usage } = questions.readWhole(asObject(json));
  const [flaw] = flaws;
  if (flaw !== undefined) return trial(wire, false, `status ${status}, but ${flaw}`);
  return usage === undefined
    ? trial(wire, false, `status ${status}, but it reports no usage, so nothing could be billed`)
    : trial(wire, true, `status ${status}`);
}

function trial(wire: Wire, answers: boolean, seen: string): WireTrial {
  return { wireId: wire.id, answers, seen };
}
