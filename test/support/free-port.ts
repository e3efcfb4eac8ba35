import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports from here to `LAST` are below those that the kernel gives to outgoing connections, so no
 * connection can take one.
 */
const FIRST = 20_000;
const LAST = 32_000;

/** A port of 127.0.0.1 that is free now, for a program that takes its port as a setting. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
