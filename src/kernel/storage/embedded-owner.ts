import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddedHome } from "./embedded-home.ts";
import { hostIdentity, identityOf, isAlive } from "./process-identity.ts";

/** Whose the server's pid file is: a bare process number is repeated by every new container. */
interface ServerOwner {
  readonly host: string;
  readonly process: string;
}

/** Notes which process the server is, and in which space of process numbers that counts. */
export function noteOwner(home: EmbeddedHome, pid: number): void {
  const owner: ServerOwner = { host: hostIdentity(), process: identityOf(pid) };
  writeFileSync(ownerFile(home), JSON.stringify(owner));
}

/**
 * What the note says of the process that the pid file names. `gone`: it lived under another boot or
 * in another container, or it has ended here. `unknown`: an earlier version made no note.
 */
export function ownerState(home: EmbeddedHome, pid: number): "living" | "gone" | "unknown" {
  const owner = readOwner(home);
  if (owner === undefined || !owner.process.startsWith(`${pid}-`)) return "unknown";
  return owner.host === hostIdentity() && isAlive(owner.process) ? "living" : "gone";
}

function readOwner(home: EmbeddedHome): ServerOwner | undefined {
  try {
    const { host, process } = JSON.parse(readFileSync(ownerFile(home), "utf8")) as ServerOwner;
    return typeof host === "string" && typeof process === "string" ? { host, process } : undefined;
  } catch {
    return undefined;
  }
}

function ownerFile(home: EmbeddedHome): string {
  return join(home.folder, "server-owner");
}
