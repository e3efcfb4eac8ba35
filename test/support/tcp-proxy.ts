import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FreshDatabase } from "./postgres.ts";
import { withResource } from "./with-resource.ts";

/**
 * `up`: bytes pass. `down`: connections are reset and refused. `silent`: connections are accepted,
 * but no bytes pass. `delayMs`: bytes pass after this delay, even if their sender is gone.
 */
export type ProxyState = "up" | "down" | "silent" | { readonly delayMs: number };

export interface TcpTarget {
  readonly host: string;
  readonly port: number;
}

/** A plain TCP proxy in front of a database, which makes it unreachable and reachable again. */
export interface TcpProxy {
  readonly port: number;
  set(state: ProxyState): void;
  /** Sends new connections to `target` from now on, and resets the present ones. */
  leadTo(target: TcpTarget): void;
  /** Lets no more bytes pass on the present connections, which stay open; new connections work. */
  lose(): void;
  /** Number of chunks that the proxy has received and not yet passed on. */
  readonly underWay: number;
  close(): Promise<void>;
}

/**
 * Listens on a free port of loopback and passes every connection on to `first`. `reader` is called
 * once for each connection and returns a function, which gets all bytes that the client sends.
 */
export async function startTcpProxy(
  first: TcpTarget,
  reader?: () => (piece: Buffer) => void,
): Promise<TcpProxy> {
  let state: ProxyState = "up";
  let target = first;
  let underWay = 0;
  const links = new Set<Link>();
  const held = async (piece: Buffer, to: Socket): Promise<void> => {
    underWay += 1;
    await sleep(typeof state === "object" ? state.delayMs : 0);
    underWay -= 1;
    if (to.writable) to.write(piece);
  };
  const server = createServer((near) => {
    if (reader !== undefined) near.on("data", reader());
    const link = new Link(near, connect(target), {
      pass: (piece, to) =>
        typeof state === "object" ? held(piece, to) : void (to.writable && to.write(piece)),
      gone: () => void links.delete(link),
    });
    links.add(link);
    link.apply(state);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get underWay() {
      return underWay;
    },
    set: (next) => {
      state = next;
      for (const link of links) link.apply(state);
    },
    leadTo: (next) => {
      target = next;
      for (const link of links) link.apply("down");
    },
    lose: () => {
      for (const link of links) link.lose();
    },
    close: async () => {
      for (const link of links) link.apply("down");
      server.close();
      await once(server, "close");
    },
  };
}

export function withProxyTo(
  database: FreshDatabase,
  reader?: () => (piece: Buffer) => void,
): TcpProxy {
  return withResource(
    () => {
      const { hostname, port } = new URL(database.connectionString);
      return startTcpProxy({ host: hostname, port: Number(port) }, reader);
    },
    (proxy) => proxy.close(),
  );
}

export function urlThrough(proxy: TcpProxy, database: FreshDatabase): URL {
  const url = new URL(database.connectionString);
  url.port = String(proxy.port);
  return url;
}

interface LinkRules {
  readonly pass: (piece: Buffer, to: Socket) => Promise<void> | void;
  readonly gone: () => void;
}

/** One connection: the near end is the client's, the far end is the database's. */
class Link {
  readonly #ends: readonly [near: Socket, far: Socket];
  readonly #rules: LinkRules;
  #isLost = false;

  constructor(near: Socket, far: Socket, rules: LinkRules) {
    this.#ends = [near, far];
    this.#rules = rules;
    this.#join(near, far);
    this.#join(far, near);
  }

  apply(state: ProxyState): void {
    for (const socket of this.#ends) {
      if (state === "down") socket.resetAndDestroy();
      else if (state === "silent" || this.#isLost) socket.pause();
      else socket.resume();
    }
  }

  lose(): void {
    this.#isLost = true;
    this.apply("silent");
  }

  #join(from: Socket, to: Socket): void {
    // Bytes are passed on in order, and before the other end learns that their sender has left.
    let last = Promise.resolve();
    from.on("data", (piece: Buffer) => {
      const passing = this.#rules.pass(piece, to);
      if (passing !== undefined) last = last.then(() => passing);
    });
    const leave = (): void => {
      this.#rules.gone();
      void last.then(() => to.destroySoon());
    };
    from.on("error", () => undefined);
    from.on("end", leave).on("close", leave);
  }
}
