import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The package's folder: two levels above this file, in `src` as in `dist`. */
const PACKAGE_FOLDER = resolve(import.meta.dirname, "../..");

/** The manifests that are published with the program, the simulated provider's among them. */
export const SHIPPED_MANIFESTS: string = join(PACKAGE_FOLDER, "manifests");

/** The console's built pages. */
export const CONSOLE_PAGES: string = join(PACKAGE_FOLDER, "dist", "console");

/** The OpenAPI document of the gateway. */
export const GATEWAY_OPENAPI: string = join(PACKAGE_FOLDER, "schema", "openapi-v1.json");

/** The version of this program. */
export function programVersion(): string {
  const text = readFileSync(join(PACKAGE_FOLDER, "package.json"), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
