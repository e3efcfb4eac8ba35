import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { acceptsConnections, awaitReady, startProgram, type TetheredProgram } from "../children.ts";
import { freePort } from "../free-port.ts";
import { TargetAbsent } from "./target.ts";

/** A Redis that keeps nothing on disk, for limits that several processes share. */
export async function startRedis(
  folder: string,
): Promise<{ readonly program: TetheredProgram; readonly url: string }> {
  const names = ["redis-server", "valkey-server"];
  const command = names.find((name) => spawnSync(name, ["--version"]).status === 0);
  if (command === undefined) {
    throw new TargetAbsent("neither redis-server nor valkey-server is in PATH");
  }
  const port = await freePort();
  const listen = ["--bind", "127.0.0.1", "--port", String(port)];
  const program = await startProgram({
    command,
    args: [...listen, "--save", "", "--appendonly", "no", "--dir", folder],
    logFile: join(folder, "redis.log"),
  });
  await awaitReady(program, () => acceptsConnections(port));
  return { program, url: `redis://127.0.0.1:${port}` };
}
