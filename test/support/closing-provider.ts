import { createServer, type Socket } from "node:net";

import { listenLocally } from "./local-server.ts";

/** How a provider ends a connection: FIN or reset before an answer, or FIN within a status line. */
export type Ending = "fin" | "rst" | "half_status";

export type ClosingProvider = Awaited<ReturnType<typeof startClosingProvider>>;

export const CHAT_ANSWER: string = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

/** Starts a provider of wire_a that ends its kept-alive connections. */
export async function startClosingProvider() {
  const sockets = new Set<Socket>();
  const requests: { connection: number; body: string }[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    const connection = (connections += 1);
    let served = 0;
    let text = "";
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.on("timeout", () => socket.end());
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const [, head = "", body = ""] = /^(.*?)\r\n\r\n(.*)$/s.exec(text) ?? [];
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (head === "" || body.length < length) return;
      text = "";
      served += 1;
      requests.push({ connection, body });
      if (served >= provider.endFrom) return end(socket, provider.ending);
      socket.setTimeout(provider.idleMs ?? 0);
      const hint = provider.keepAlive === undefined ? "" : `keep-alive: ${provider.keepAlive}\r\n`;
      const type = `content-type: application/json\r\ncontent-length: ${CHAT_ANSWER.length}\r\n`;
      socket.write(`HTTP/1.1 200 OK\r\n${type}${hint}\r\n${CHAT_ANSWER}`);
    });
  });
  const listening = await listenLocally(server);
  const provider = {
    url: `${listening.url}/v1`,
    requests,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    /** The request on each connection, from 1, at which it is ended; earlier ones are answered. */
    endFrom: 2,
    ending: "fin" as Ending,
    keepAlive: undefined as string | undefined,
    /** Milliseconds without use after which a connection is ended; undefined: never. */
    idleMs: undefined as number | undefined,
    close: listening.close,
  };
  return provider;
}

function end(socket: Socket, ending: Ending): void {
  if (ending === "rst") socket.resetAndDestroy();
  else if (ending === "fin") socket.end();
  else socket.end("HTTP/1.1 20");
}
