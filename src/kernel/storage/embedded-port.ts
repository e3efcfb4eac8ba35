import { randomInt } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../core/log.ts";
import { hasLivingUsers, type EmbeddedHome } from "./embedded-home.ts";

/** A range of ports, both ends included. */
type PortRange = readonly [first: number, last: number];

/** These ports are above well-known ones and usually below those of outgoing connections. */
const OWN_PORTS: PortRange = [20_000, 29_999];
const HIGHEST_PORT = 65_535;
const FREE_PORT_TRIES = 64;
/** How long to wait for the previous port before another one is chosen. */
const LAST_PORT_WAIT_MS = 1_000;
const POLL_MS = 100;

/**
 * Chooses the port of the previous start, so that running programs find the database again. If that
 * port stays taken, chooses another one, or throws if a living program still uses the old port.
 */
export async function choosePort(home: EmbeddedHome, log: Logger): Promise<number> {
  const last = lastPort(home);
  if (last === undefined) return await freshPort();
  for (let waitedMs = 0; waitedMs <= LAST_PORT_WAIT_MS; waitedMs += POLL_MS) {
    if (await isFree(last)) return last;
    await sleep(POLL_MS);
  }
  if (hasLivingUsers(home)) {
    throw new Error(
      `port ${last} of the embedded PostgreSQL is used by another program, and programs that run ` +
        `on ${home.folder} know the database by it: free the port or stop them`,
    );
  }
  log.warn(
    { port: last },
    "the database's port is used by another program; another port is chosen",
  );
  return await freshPort();
}

export function rememberPort(home: EmbeddedHome, port: number): void {
  writeFileSync(join(home.folder, "port"), String(port));
}

function lastPort(home: EmbeddedHome): number | undefined {
  const path = join(home.folder, "port");
  const port = existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
  return Number.isInteger(port) && port > 0 && port <= HIGHEST_PORT ? port : undefined;
}

/**
 * Picks a random free port, so that two servers that start together choose different ones. Avoids
 * ephemeral ports if possible: an outgoing connection could take one while the server is down.
 */
async function freshPort(): Promise<number> {
  const [first, last] = ownPorts(lentPorts());
  for (let tries = 0; tries < FREE_PORT_TRIES; tries++) {
    const port = randomInt(first, last + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port for the embedded PostgreSQL between ${first} and ${last}`);
}

/**
 * Returns the ports to choose from: those of `OWN_PORTS` below the system's ephemeral ports
 * (`lent`), or else those above `lent`. If neither range is large enough, returns `OWN_PORTS`.
 */
export function ownPorts(lent: PortRange | undefined): PortRange {
  if (lent === undefined) return OWN_PORTS;
  const [first, last] = OWN_PORTS;
  const below: PortRange = [first, Math.min(last, lent[0] - 1)];
  const above: PortRange = [Math.max(first, lent[1] + 1), HIGHEST_PORT];
  return [below, above].find((range) => range[1] - range[0] >= FREE_PORT_TRIES) ?? OWN_PORTS;
}

/** Reads the ephemeral ports of Linux. macOS and Windows have them far above `OWN_PORTS`. */
function lentPorts(): PortRange | undefined {
  try {
    const text = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8");
    const [first = 0, last = 0] = text.trim().split(/\s+/).map(Number);
    return first > 0 && last >= first ? [first, last] : undefined;
  } catch {
    return undefined;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
