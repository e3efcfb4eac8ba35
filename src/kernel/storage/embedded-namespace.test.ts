import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { expect, test } from "vitest";
import { quickOrDeep } from "../../../test/support/depth.ts";
import { FRESH_NAMESPACE, hasNamespaces } from "../../../test/support/namespace.ts";
import { withResource } from "../../../test/support/with-resource.ts";

/** The number of starts. The first one creates the database. */
const STARTS = quickOrDeep(2, 11);

const root = withResource(
  () => {
    const folder = { path: mkdtempSync(join(tmpdir(), "tokenmarket-namespace-")) };
    chmodSync(folder.path, 0o755);
    return folder;
  },
  ({ path }) => rmSync(path, { recursive: true, force: true }),
);

test.skipIf(!hasNamespaces)(
  "an embedded PostgreSQL that was killed with its container works after every next start",
  async () => {
    for (let start = 1; start <= STARTS; start += 1) {
      expect(await rowsAfter(start)).toBe(start);
    }
  },
);

/** Starts, writes one row, counts the rows of all starts, and kills the whole namespace. */
async function rowsAfter(start: number): Promise<number> {
  const script = new URL("../../../test/support/embedded-child.ts", import.meta.url).pathname;
  const [program, ...args] = [...FRESH_NAMESPACE, process.execPath, "--import", "tsx", script];
  const child = spawn(program, [...args, join(root.path, "data")], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exited = once(child, "close");
  try {
    const ready = once(createInterface(child.stdout), "line");
    const line = await Promise.race([ready, exited.then(() => undefined)]);
    if (line === undefined) throw new Error(`start ${start} failed: ${errors}`);
    const client = new Client(JSON.parse(String(line[0])) as { connectionString: string });
    await client.connect();
    await client.query("create table if not exists kept (start integer)");
    await client.query("insert into kept values ($1)", [start]);
    const { rowCount } = await client.query("select from kept");
    client.on("error", () => undefined);
    child.kill("SIGKILL");
    return rowCount ?? 0;
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}
