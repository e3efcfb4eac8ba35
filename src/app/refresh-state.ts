import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface RefreshState {
  readonly atMs: number;
  /** One sentence for each change that waits for an operator's decision. */
  readonly waits: readonly string[];
}

export function sourcesFolder(dataDir: string): string {
  return join(dataDir, "catalog-sources");
}

/** Returns undefined if there was no refresh, or if its record cannot be read. */
export function readRefreshState(dataDir: string): RefreshState | undefined {
  try {
    const read = JSON.parse(readFileSync(stateFile(dataDir), "utf8")) as Partial<RefreshState>;
    const { atMs, waits } = read;
    return typeof atMs === "number" && Array.isArray(waits)
      ? { atMs, waits: waits.map(String) }
      : undefined;
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
