import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "typebox";

import { conforms } from "../kernel/index.ts";

const refreshState = Type.Object({
  atMs: Type.Number(),
  /** Sentences for the operator: what was changed, what waits for a decision, and what failed. */
  waits: Type.Array(Type.String()),
});
export type RefreshState = Static<typeof refreshState>;
const isRefreshState = conforms(refreshState);

export function sourcesFolder(dataDir: string): string {
  return join(dataDir, "catalog-sources");
}

/** Returns undefined if there was no refresh, or if its record cannot be read. */
export function readRefreshState(dataDir: string): RefreshState | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(stateFile(dataDir), "utf8"));
    return isRefreshState(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

export function writeRefreshState(dataDir: string, state: RefreshState): void {
  mkdirSync(sourcesFolder(dataDir), { recursive: true });
  writeFileSync(stateFile(dataDir), `${JSON.stringify(state)}\n`);
}

function stateFile(dataDir: string): string {
  return join(sourcesFolder(dataDir), "last-refresh.json");
}
