import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The package's root is two levels above this file's folder, in `src` as in `dist`. */
const PACKAGE_FOLDER = resolve(import.meta.dirname, "../..");

/** The folder of the published manifests, including that of the simulated provider. */
export const SHIPPED_MANIFESTS: string = join(PACKAGE_FOLDER, "manifests");

export const CONSOLE_PAGES: string = join(PACKAGE_FOLDER, "dist", "console");

export const GATEWAY_OPENAPI: string = join(PACKAGE_FOLDER, "schema", "openapi-v1.json");

export function programVersion(): string {
  const text = readFileSync(join(PACKAGE_FOLDER, "package.json"), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
