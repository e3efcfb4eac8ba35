import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";

import { withResource } from "./with-resource.ts";

export interface LocalServer {
  readonly port: number;
  /** Without TLS and without a path. */
  readonly url: string;
  /** Also ends its connections. Resolves when all are closed. */
  readonly close: () => Promise<void>;
}

export function withServer(make: () => Server): LocalServer {
  return withResource(() => listenLocally(make()));
}

/** Resolves when the server listens. Accepts servers of HTTP, with TLS or without, and of TCP. */
export async function listenLocally(server: Server): Promise<LocalServer> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
