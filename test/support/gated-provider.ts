import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";

import type { Simulator } from "../../src/dev/simulator/simulator.ts";
import { until } from "./books.ts";
import { simulatorManifest, textModel } from "./gateway.ts";
import { listenLocally } from "./local-server.ts";
import { withResource } from "./with-resource.ts";

export interface GatedProvider {
  readonly url: string;
  readonly calls: readonly GatedCall[];
  close(): Promise<void>;
}

export async function startGatedProvider(simulatorUrl: string): Promise<GatedProvider> {
  const calls: GatedCall[] = [];
  const server = createServer((request, response) => {
    void receive(simulatorUrl, request, response).then((call) => calls.push(call));
  });
  return { ...(await listenLocally(server)), calls };
}

export function withGatedProvider(simulator: Simulator): GatedProvider {
  return withResource(() => startGatedProvider(simulator.url));
}

export async function sendToGate<T>(
  provider: GatedProvider,
  send: () => Promise<T>,
): Promise<{ readonly call: GatedCall; readonly answer: Promise<T> }> {
  const before = provider.calls.length;
  const answer = send();
  const call = await until("it is at the provider", () => provider.calls[before]);
  return { call, answer };
}

export function gatedManifest(provider: GatedProvider): object {
  return simulatorManifest({
    provider: "gated",
    dialect: "wire_a",
    baseUrl: `${provider.url}/v1`,
    models: [textModel("gated/model")],
  });
}

async function receive(
  simulatorUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<GatedCall> {
  const bodyText = await readText(request);
  const version = request.headers["anthropic-version"];
  const answer = await fetch(simulatorUrl + (request.url ?? ""), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(typeof version === "string" ? { "anthropic-version": version } : {}),
    },
    body: bodyText,
  });
  const type = answer.headers.get("content-type") ?? "";
  const whole = await answer.text();
  const pieces = type.startsWith("text/event-stream") ? whole.match(/.*?\n\n/gs) : undefined;
  return new GatedCall(response, bodyText, { status: answer.status, type }, pieces ?? [whole]);
}

/** A call held at the provider: the simulator's whole answer, which is passed on in parts. */
export class GatedCall {
  /** The body as the gateway sent it. */
  readonly bodyText: string;
  /** The events of a stream; a JSON answer is one part. */
  readonly pieces: readonly string[];
  /** True if the gateway closed the connection before the end of the answer. */
  abandoned = false;
  ended = false;
  readonly #response: ServerResponse;
  readonly #head: { readonly status: number; readonly type: string };
  #out = 0;

  constructor(
    response: ServerResponse,
    bodyText: string,
    head: { readonly status: number; readonly type: string },
    pieces: readonly string[],
  ) {
    this.bodyText = bodyText;
    this.pieces = pieces;
    this.#response = response;
    this.#head = head;
    response.on("error", () => undefined);
    response.on("close", () => {
      this.ended = response.writableFinished;
      this.abandoned = !this.ended;
    });
  }

  /** Passes on the first `count` parts, or all of them. The last part ends the answer. */
  release(count: number = this.pieces.length): void {
    const { status, type } = this.#head;
    if (!this.#response.headersSent) this.#response.writeHead(status, { "content-type": type });
    this.#response.flushHeaders();
    while (this.#out < count) this.#response.write(this.pieces[this.#out++]);
    if (this.#out === this.pieces.length) this.#response.end();
  }
}
