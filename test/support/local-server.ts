import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

import { withResource } from "./with-resource.ts";

/** A server on a free port of loopback. */
export interface LocalServer {
  readonly port: number;
  /** Without TLS and without a path. */
  readonly url: string;
  close(): void;
}

/** A server of the test's own, for the tests of the calling file or `describe`. */
export function withServer(make: () => Server): LocalServer {
  return withResource(
    () => listenLocally(make()),
    (server) => server.close(),
  );
}

/** It listens when this resolves; `close` ends its connections too. */
export async function listenLocally(server: Server): Promise<LocalServer> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
