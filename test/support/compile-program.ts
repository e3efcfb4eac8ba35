import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

import { bundle } from "./bundle.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Below the repository's node_modules, so that packages outside the bundle are found. */
const CACHE = join(ROOT, "node_modules", ".cache");

/** The program, bundled from the present sources, because a bundle starts three times as fast. */
export interface CompiledProgram {
  readonly mainFile: string;
  /** The same program with fail points, at which the crash tests kill it. */
  readonly crashingFile: string;
}

/** Creates an empty folder for `compileProgram`; the caller removes it. */
export function newProgramFolder(): string {
  mkdirSync(CACHE, { recursive: true });
  return mkdtempSync(join(CACHE, "tokenmarket-"));
}

export function removeProgramFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Builds both programs in one pass. The console's pages and the manifests are only linked. */
export async function compileProgram(folder: string): Promise<CompiledProgram> {
  const entries = {
    "cli/main": join(ROOT, "src/cli/main.ts"),
    "crash/crashing-gateway": join(ROOT, "test/e2e/crash/crashing-gateway.ts"),
  };
  await bundle(entries, join(folder, "dist"));
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  symlinkSync(join(ROOT, "dist", "console"), join(folder, "dist", "console"));
  const migrations = join(folder, "dist", "storage", "migrations");
  cpSync(join(ROOT, "src/kernel/storage/migrations"), migrations, { recursive: true });
  symlinkSync(join(ROOT, "manifests"), join(folder, "manifests"));
  return programIn(folder);
}

export function programIn(folder: string): CompiledProgram {
  return {
    mainFile: join(folder, "dist", "cli", "main.js"),
    crashingFile: join(folder, "dist", "crash", "crashing-gateway.js"),
  };
}
