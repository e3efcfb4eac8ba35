import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { listenLocally } from "./local-server.ts";
import { withResource } from "./with-resource.ts";

/**
 * `up`: bytes pass. `down`: connections are reset and refused. `silent`: connections are accepted,
 * but no bytes pass. `delayMs`: bytes pass after this delay, even if their sender is gone.
 */
type ProxyState = "up" | "down" | "silent" | { readonly delayMs: number };

export interface TcpTarget {
  readonly host: string;
  readonly port: number;
}

interface ProxiedDatabase {
  readonly connectionString: string;
}

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/**
 * Starts a TCP proxy in front of a database, which makes it unreachable and reachable again.
 * `reader` is called once for each connection and returns a function, which gets all bytes that the
 * client sends.
 */
export async function startTcpProxy(first: TcpTarget, reader?: () => (piece: Buffer) => void) {
  let state: ProxyState = "up";
  let target = first;
  let underWay = 0;
  const links = new Set<Link>();
  const held = async (piece: Buffer, to: Socket, delayMs: number): Promise<void> => {
    underWay += 1;
    await sleep(delayMs);
    underWay -= 1;
    if (to.writable) to.write(piece);
  };
  const server = createServer((near) => {
    if (reader !== undefined) near.on("data", reader());
    const link = new Link(near, connect(target), {
      pass: (piece, to) =>
        typeof state === "object"
          ? held(piece, to, state.delayMs)
          : void (to.writable && to.write(piece)),
      gone: () => void links.delete(link),
    });
    links.add(link);
    link.apply(state);
  });
  const { port } = await listenLocally(server);
  return {
    port,
    /** Number of chunks that the proxy has received and not yet passed on. */
    get underWay() {
      return underWay;
    },
    set: (next: ProxyState) => {
      state = next;
      for (const link of links) link.apply(state);
    },
    /** Sends new connections to `next` from now on, and resets the present ones. */
    leadTo: (next: TcpTarget) => {
      target = next;
      for (const link of links) link.apply("down");
    },
    /** Lets no more bytes pass on the present connections, which stay open; new ones work. */
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

export function withProxyTo(database: ProxiedDatabase, reader?: () => (piece: Buffer) => void) {
  return withResource(() => {
    const { hostname, port } = new URL(database.connectionString);
    return startTcpProxy({ host: hostname, port: Number(port) }, reader);
  });
}

export function urlThrough(proxy: TcpProxy, database: ProxiedDatabase): URL {
  const url = new URL(database.connectionString);
  url.port = String(proxy.port);
  return url;
}

interface LinkRules {
  readonly pass: (piece: Buffer, to: Socket) => Promise<void> | void;
  readonly gone: () => void;
}

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
