import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

const HOST = "127.0.0.1";

/** Opens a port of this machine; 0: any free one. `close` breaks off answers under way. */
export async function listen(
  server: Server,
  port = 0,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  server.listen(port, HOST);
  await once(server, "listening");
  const { port: opened } = server.address() as AddressInfo;
  return {
    url: `http://${HOST}:${opened}`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
