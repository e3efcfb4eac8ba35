import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { text as readText } from "node:stream/consumers";

import { simulatorManifest, tokenPrices } from "./gateway.ts";
import { listenLocally } from "./local-server.ts";

interface HostedJob {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  record: object;
  /** If set, answers polls in place of the record. */
  answer: Handler | undefined;
  /** If set, answers downloads in place of the file. */
  content: Handler | undefined;
  file: Buffer;
  readonly polls: IncomingHttpHeaders[];
  readonly fetched: { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  cancelled: number;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A provider of videos under control of the test, in the format of the reference wire. */
export class VideoHost {
  readonly jobs: HostedJob[] = [];
  /** Every request by method and path, such as `GET /v1/videos/…`. */
  readonly asked: string[] = [];
  /** If set, answers requests for a new job, and no job is created. */
  onAccept:
    ((request: IncomingMessage, response: ServerResponse, body: string) => void) | undefined;
  /** Answers paths that belong to no job, such as targets of redirects. */
  elsewhere: Handler = (_request, response) => void response.writeHead(404).end("{}");
  url = "";
  close: () => Promise<void> = () => Promise.resolve();

  static async start(): Promise<VideoHost> {
    const host = new VideoHost();
    const server = createServer((request, response) => void host.#serve(request, response));
    return Object.assign(host, await listenLocally(server));
  }

  get last(): HostedJob {
    const job = this.jobs.at(-1);
    if (job === undefined) throw new Error("no job was accepted");
    return job;
  }

  accept(text: string, headers: IncomingHttpHeaders): HostedJob {
    const id = `vj-${this.jobs.length + 1}`;
    const job: HostedJob = {
      id,
      body: JSON.parse(text) as Record<string, unknown>,
      headers,
      record: { id, object: "video", status: "queued", progress: 0 },
      answer: undefined,
      content: undefined,
      file: Buffer.alloc(0),
      polls: [],
      fetched: [],
      cancelled: 0,
    };
    this.jobs.push(job);
    return job;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    this.asked.push(`${method} ${url}`);
    const body = await readText(request);
    if (method === "POST") return this.#take(request, response, body);
    const [, id, part] = /^\/v1\/videos\/([^/?]+)(\/content)?/.exec(url) ?? [];
    const job = this.jobs.find((each) => each.id === decodeURIComponent(id ?? ""));
    if (job === undefined) return this.elsewhere(request, response);
    if (method === "DELETE") {
      job.cancelled += 1;
      return json(response, 200, { id: job.id, deleted: true });
    }
    if (part !== undefined) {
      job.fetched.push({ url, headers: request.headers });
      return (job.content ?? sendFile(job.file))(request, response);
    }
    job.polls.push(request.headers);
    (job.answer ?? ((_request, answer) => json(answer, 200, job.record)))(request, response);
  }

  #take(request: IncomingMessage, response: ServerResponse, body: string): void {
    if (this.onAccept !== undefined) return this.onAccept(request, response, body);
    json(response, 200, this.accept(body, request.headers).record);
  }
}

export function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function sendFile(file: Buffer): Handler {
  return (request, response) => {
    const base = { "content-type": "video/mp4", "accept-ranges": "bytes", etag: '"v1"' };
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    if (range === null) {
      response.writeHead(200, { ...base, "content-length": file.length }).end(file);
      return;
    }
    const from = Number(range[1]);
    const to = range[2] === "" ? file.length - 1 : Math.min(Number(range[2]), file.length - 1);
    if (from >= file.length) {
      response.writeHead(416, { ...base, "content-range": `bytes */${file.length}` }).end("no");
      return;
    }
    const part = file.subarray(from, to + 1);
    response
      .writeHead(206, {
        ...base,
        "content-length": part.length,
        "content-range": `bytes ${from}-${to}/${file.length}`,
      })
      .end(part);
  };
}

export const VIDEO_CEILING = 100_000;

export function videoModel(id: string, more: object = {}): object {
  return {
    id,
    output_modality: "video",
    max_output_tokens: VIDEO_CEILING,
    supported_parameters: {
      seconds: { type: "integer", min: 1, max: 12, default: 4, unit: "s" },
      resolution: { type: "enum", values: ["480p", "720p"] },
      aspect_ratio: { type: "enum", values: ["16:9", "9:16"] },
      generate_audio: { type: "boolean" },
    },
    pricing: tokenPrices({ prompt: 0, completion: 1 }),
    price_card: [{ unit: "second", cost_usd: "0.10" }],
    ...more,
  };
}

export function videoManifest(input: {
  readonly provider: string;
  readonly url: string;
  readonly models: readonly object[];
  readonly priority?: number;
}): object {
  const baseUrl = `${input.url}/v1`;
  const endpoint = { billing: "reported_cost" };
  return simulatorManifest({ ...input, dialect: "wire_a", baseUrl, endpoint });
}
