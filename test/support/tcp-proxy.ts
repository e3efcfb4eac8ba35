import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A plain TCP proxy in front of a database, to take it away and to give it back. */
export interface TcpProxy {
  readonly port: number;
  /** `up`: bytes pass. `down`: connections are reset and refused. `silent`: nothing passes. */
  set(state: "up" | "down" | "silent"): void;
  close(): Promise<void>;
}

/** Listens on a free port of loopback and passes every connection on to `target`. */
export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  let state: "up" | "down" | "silent" = "up";
  const pairs = new Set<readonly [Socket, Socket]>();
  const apply = (pair: readonly [Socket, Socket]): void => {
    for (const socket of pair) {
      if (state === "down") socket.resetAndDestroy();
      else if (state === "silent") socket.pause();
      else socket.resume();
    }
  };
  const server = createServer((near) => {
    const far = connect(target);
    const pair = [near, far] as const;
    pairs.add(pair);
    const drop = (): void => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.on("error", drop).on("close", drop);
    near.on("data", (chunk: Buffer) => far.write(chunk));
    far.on("data", (chunk: Buffer) => near.write(chunk));
    apply(pair);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    set: (next) => {
      state = next;
      for (const pair of pairs) apply(pair);
    },
    close: async () => {
      state = "down";
      for (const pair of pairs) apply(pair);
      server.close();
      await once(server, "close");
    },
  };
}
