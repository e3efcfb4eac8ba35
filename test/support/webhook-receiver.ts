import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A webhook as the receiver got it, byte for byte. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  /** The webhooks of one path, oldest first. */
  at(path: string): readonly ReceivedWebhook[];
  /** How requests of a path are answered; default: 204. */
  answer(path: string, how: (response: ServerResponse) => void): void;
  /** Requests that are being answered now. */
  readonly open: () => number;
  close(): Promise<void>;
}

/** A real HTTP server on loopback that keeps what it is sent. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const answers = new Map<string, (response: ServerResponse) => void>();
  let open = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    open += 1;
    response.on("close", () => {
      open -= 1;
    });
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "", method = "", headers } = request;
      received.push({ path, method, headers, body: Buffer.concat(chunks).toString() });
      const how = answers.get(path);
      if (how === undefined) response.writeHead(204).end();
      else how(response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    at: (path) => received.filter((each) => each.path === path),
    answer: (path, how) => void answers.set(path, how),
    open: () => open,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
