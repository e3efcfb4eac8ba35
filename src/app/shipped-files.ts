import { join, resolve } from "node:path";

/** The package's own folder, wherever it is installed: two above this file, in the sources and built. */
const PACKAGE_FOLDER = resolve(import.meta.dirname, "../..");

/** The manifests that are published with the program; those of the simulated provider are here. */
export const SHIPPED_MANIFESTS: string = join(PACKAGE_FOLDER, "manifests");

/** The console's built pages. */
export const CONSOLE_PAGES: string = join(PACKAGE_FOLDER, "dist", "console");
