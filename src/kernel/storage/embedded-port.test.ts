import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../../../test/support/silent-log.ts";
import { ownPorts } from "./embedded-port.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded-server.ts";

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tokenmarket-port-"));
  chmodSync(root, 0o755);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function start(name: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: join(root, name), log: silentLog });
}

/** Makes a data folder that remembers this port. */
function folderWithPort(name: string, port: number): void {
  mkdirSync(join(root, name, "postgres"), { recursive: true });
  writeFileSync(join(root, name, "postgres", "port"), String(port));
}

function portOf(server: EmbeddedPostgres): number {
  return Number(new URL(server.connectionString).port);
}

async function listenSomewhere(): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, server };
}

test.each([
  ["the usual range", [32_768, 60_999], [20_000, 29_999]],
  ["no known range", undefined, [20_000, 29_999]],
  ["a range over the default ports with free ports above it", [1_024, 60_999], [61_000, 65_535]],
  ["a range over the upper half of the default ports", [25_000, 65_535], [20_000, 24_999]],
  ["a range of all ports, which cannot be avoided", [1_024, 65_535], [20_000, 29_999]],
] as const)(
  "the ports of embedded databases avoid the system's ephemeral range: %s",
  (_case, lent, expected) => {
    expect(ownPorts(lent)).toEqual(expected);
  },
);

test("two data folders with the same stored port that start together get different ports and keep them", async () => {
  const { port, server } = await listenSomewhere();
  server.close();
  await once(server, "close");
  for (const name of ["one", "other"]) folderWithPort(name, port);
  const both = await Promise.all([start("one"), start("other")]);
  const ports = both.map(portOf);
  expect(ports).toContain(port);
  expect(new Set(ports).size).toBe(2);
  for (const each of both) await each.stop();
  const moved = ports[0] === port ? "other" : "one";
  const again = await start(moved);
  expect(portOf(again)).toBe(ports.find((each) => each !== port));
  await again.stop();
});
