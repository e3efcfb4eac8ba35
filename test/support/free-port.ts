import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** The kernel gives outgoing connections ports above this range, so they use none of these. */
const FIRST = 20_000;
const LAST = 32_000;

/** Returns a free port of 127.0.0.1, for a program that is told its port by a setting. */
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
