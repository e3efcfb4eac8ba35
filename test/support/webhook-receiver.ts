import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import { text as readText } from "node:stream/consumers";

import { listenLocally } from "./local-server.ts";

/** One webhook as it was received, byte for byte. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface WebhookReceiver {
  readonly port: number;
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  /** Returns the webhooks of one path, oldest first. */
  at(path: string): readonly ReceivedWebhook[];
  /** Sets how requests of a path are answered. Default: 204. */
  answer(path: string, how: (response: ServerResponse) => void): void;
  readonly open: () => number;
  close(): Promise<void>;
}

/** Starts a real server on loopback that keeps what it receives; with a certificate, over TLS. */
export async function startWebhookReceiver(certificate?: {
  readonly key: string;
  readonly cert: string;
}): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const answers = new Map<string, (response: ServerResponse) => void>();
  let open = 0;
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    open += 1;
    response.on("close", () => {
      open -= 1;
    });
    const { url: path = "", method = "", headers } = request;
    received.push({ path, method, headers, body: await readText(request) });
    const how = answers.get(path);
    if (how === undefined) response.writeHead(204).end();
    else how(response);
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    void receive(request, response);
  const server =
    certificate === undefined ? createServer(serve) : createSecureServer(certificate, serve);
  server.on("tlsClientError", () => undefined);
  return {
    ...(await listenLocally(server)),
    received,
    at: (path) => received.filter((each) => each.path === path),
    answer: (path, how) => void answers.set(path, how),
    open: () => open,
  };
}
