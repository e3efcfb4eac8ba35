import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";

import { withResource } from "./with-resource.ts";

export interface LocalServer {
  readonly port: number;
  /** An `http:` address without a path. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

export function withServer(make: () => Server): LocalServer {
  return withResource(() => listenLocally(make()));
}

/** Listens on a port of 127.0.0.1, by default a free one. Accepts servers of HTTP, HTTPS and TCP. */
export async function listenLocally(server: Server, wantedPort = 0): Promise<LocalServer> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(wantedPort, "127.0.0.1");
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
