import { existsSync, readFileSync, statSync } from "node:fs";

import { isOwnVariable } from "../../kernel/index.ts";
import { type ProviderHead, providerHeads } from "../../listing-tools/index.ts";
import { UsageFault } from "../command-context.ts";

export type ProviderKeys = ReadonlyMap<string, string>;

export interface FoundKeys {
  readonly keys: ProviderKeys;
  /** Texts that never contain a value from the file. */
  readonly warnings: readonly string[];
}

const FILE_BYTES_MAX = 64 * 1024;
const NAME = /^[A-Z][A-Z0-9_]*$/;

/** Finds provider keys in the environment and in the file. A key in the file has precedence. */
export function findKeys(
  env: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
): FoundKeys {
  const names = new Set(providerHeads().flatMap(({ endpoint }) => endpoint.api_key_env ?? []));
  const fromEnv = [...names].flatMap((name): (readonly [string, string])[] => {
    const value = env[name] ?? "";
    return value === "" ? [] : [[name, value]];
  });
  if (file === undefined) return { keys: new Map(fromEnv), warnings: [] };
  const keys = new Map([...fromEnv, ...readKeysFile(file)]);
  const warning = `${file} can be read by other users of this machine: chmod 600 ${file}`;
  return { keys, warnings: isOpenToOthers(file) ? [warning] : [] };
}

/** The known providers whose key was found, in the order in which they are offered. */
export function headsWithKey(keys: ProviderKeys): readonly ProviderHead[] {
  return providerHeads().filter(
    ({ use, endpoint }) => use === "import" && keys.has(endpoint.api_key_env ?? ""),
  );
}

/** Reads `NAME=value` lines, as shells and most tools write them. Messages contain no value. */
function readKeysFile(file: string): readonly (readonly [string, string])[] {
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file; check --keys-file`);
  if (statSync(file).size > FILE_BYTES_MAX) {
    throw new UsageFault(`${file}: a file of keys has at most ${FILE_BYTES_MAX / 1024} KiB`);
  }
  const lines = readFileSync(file, "utf8").split(/\r?\n/);
  return lines.flatMap((line, index) => {
    const text = line.trim().replace(/^export\s+/, "");
    if (text === "" || text.startsWith("#")) return [];
    const at = text.indexOf("=");
    const name = text.slice(0, Math.max(0, at)).trim();
    if (!NAME.test(name)) throw new UsageFault(`${file}:${index + 1}: must be NAME=value`);
    const value = unquoted(text.slice(at + 1).trim());
    return isOwnVariable(name) || value === "" ? [] : [[name, value] as const];
  });
}

function unquoted(text: string): string {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  return quoted?.[2] ?? text;
}

/** True if other users have any access to the file; false on Windows, which has no such bits. */
function isOpenToOthers(file: string): boolean {
  return process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0;
}
