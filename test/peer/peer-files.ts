import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TargetAbsent } from "../../bench/targets/target.ts";

/** The parts that `install.ts` can install; `litellm-database` is LiteLLM's access to one. */
export type PeerPart = "portkey" | "bifrost-core" | "bifrost" | "litellm" | "litellm-database";

/** Everything that is installed for the bench, and why something is not; ignored by git. */
export const INSTALLED: string = fileURLToPath(new URL("./packages/installed/", import.meta.url));

/** A Go handler of ours over the peer's library, which can be fetched where its program cannot. */
export const BIFROST_CORE_SOURCE: string = fileURLToPath(
  new URL("./bifrost-core/", import.meta.url),
);
/** As in its go.mod. */
export const BIFROST_CORE_VERSION = "v1.3.0";
export const BIFROST_CORE_PROGRAM: string = join(INSTALLED, "bifrost-core", "bifrost-core");
export const BIFROST_VERSION = "v1.5.15";
export const BIFROST_PROGRAM: string = join(INSTALLED, "bifrost", "bifrost-http");
export const LITELLM_ENVIRONMENT: string = join(INSTALLED, "litellm", "venv");
export const PRISMA_FOLDER: string = join(INSTALLED, "litellm", "prisma");

/** The file that says why a part could not be installed. */
export function reasonFile(part: PeerPart): string {
  return join(INSTALLED, `${part}.absent`);
}

/** Throws `TargetAbsent` with the reason that the installation left, when there is one. */
export function requirePart(part: PeerPart, file: string): void {
  const reason = reasonFile(part);
  if (existsSync(reason)) throw new TargetAbsent(readFileSync(reason, "utf8").trim());
  if (existsSync(file)) return;
  throw new TargetAbsent(`${part} is not installed; run: npm run bench:peers -- ${part}`);
}
