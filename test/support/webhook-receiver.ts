import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import { text as readText } from "node:stream/consumers";

import { listenLocally } from "./local-server.ts";

export interface ReceivedWebhook {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export async function startWebhookReceiver(certificate?: {
  readonly key: string;
  readonly cert: string;
}) {
  const received: ReceivedWebhook[] = [];
  const answers = new Map<string, (response: ServerResponse) => void>();
  let open = 0;
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    open += 1;
    response.on("close", () => (open -= 1));
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
    at: (path: string) => received.filter((each) => each.path === path),
    /** Sets how requests of a path are answered. Default: 204. */
    answer: (path: string, how: (response: ServerResponse) => void) => void answers.set(path, how),
    open: () => open,
  };
}
