import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

import { bundle } from "../../support/bundle.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

export interface CrashingBuild {
  /** The program with fail points. */
  readonly crashingFile: string;
  /** The same program without them, from the same sources. */
  readonly shippedFile: string;
  remove(): void;
}

/** Bundles both once: a bundle starts in a third of the time, and every start runs the same code. */
export async function buildCrashing(): Promise<CrashingBuild> {
  // Below node_modules, so that what is not bundled is found.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "tokenmarket-crash-"));
  const outDir = join(folder, "dist");
  const entries = {
    "crash/crashing-gateway": join(import.meta.dirname, "crashing-gateway.ts"),
    "cli/main": join(ROOT, "src/cli/main.ts"),
  };
  await bundle(entries, outDir);
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  return {
    crashingFile: join(outDir, "crash/crashing-gateway.js"),
    shippedFile: join(outDir, "cli/main.js"),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
