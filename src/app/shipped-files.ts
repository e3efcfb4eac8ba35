import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The package's root is two levels above this file's folder, in `src` as in `dist`. */
const PACKAGE_FOLDER = resolve(import.meta.dirname, "../..");

/** The folder of the published manifests, including that of the simulated provider. */
export const SHIPPED_MANIFESTS: string = join(PACKAGE_FOLDER, "manifests");

export const CONSOLE_PAGES: string = join(PACKAGE_FOLDER, "dist", "console");

/** The folder of the published schemas, including the OpenAPI documents that the console serves. */
export const SHIPPED_SCHEMAS: string = join(PACKAGE_FOLDER, "schema");

export function programVersion(): string {
  const text = readFileSync(join(PACKAGE_FOLDER, "package.json"), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
