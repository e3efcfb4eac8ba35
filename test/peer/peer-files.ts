import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Endpoint } from "../../bench/endpoint.ts";
import { chatPath, clientHeaders, type Route, TargetAbsent } from "../../bench/targets/target.ts";

/** The parts that `install.ts` can install; `litellm-database` lets LiteLLM use PostgreSQL. */
export type PeerPart = "portkey" | "bifrost-core" | "bifrost" | "litellm" | "litellm-database";

/** The folder of all installed parts and of the reasons why others are absent; ignored by git. */
export const INSTALLED: string = fileURLToPath(new URL("./packages/installed/", import.meta.url));

export const BIFROST_CORE_SOURCE: string = fileURLToPath(
  new URL("./bifrost-core/", import.meta.url),
);
export const BIFROST_CORE_VERSION = "v1.3.0";
export const BIFROST_CORE_PROGRAM: string = join(INSTALLED, "bifrost-core", "bifrost-core");
export const BIFROST_VERSION = "v1.5.15";
export const BIFROST_PROGRAM: string = join(INSTALLED, "bifrost", "bifrost-http");
export const LITELLM_ENVIRONMENT: string = join(INSTALLED, "litellm", "venv");
export const PRISMA_FOLDER: string = join(INSTALLED, "litellm", "prisma");

export function reasonFile(part: PeerPart): string {
  return join(INSTALLED, `${part}.absent`);
}

/** Returns how a client calls a gateway on this port that answers both wires at their usual paths. */
export function usualEndpoint(
  port: number,
  { client }: Pick<Route, "client">,
  key: string,
): Endpoint {
  return { port, path: chatPath(client), headers: clientHeaders(client, key) };
}

/** Throws `TargetAbsent` if the part is not installed, with the reason that the installer left. */
export function requirePart(part: PeerPart, file: string): void {
  const reason = reasonFile(part);
  if (existsSync(reason)) throw new TargetAbsent(readFileSync(reason, "utf8").trim());
  if (existsSync(file)) return;
  throw new TargetAbsent(`${part} is not installed; run: npm run bench:peers -- ${part}`);
}
