import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../../..");

export interface CrashingBuild {
  /** The program with fail points. */
  readonly crashingFile: string;
  /** The program as it is shipped, from the same sources. */
  readonly shippedFile: string;
  remove(): void;
}

/** Compiles both once: compiled they start in half the time, and every start runs the same code. */
export function buildCrashing(): CrashingBuild {
  // Below node_modules, so that the compiled modules find their dependencies.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "tokenmarket-crash-"));
  const outDir = join(folder, "dist");
  const project = join(folder, "tsconfig.json");
  const settings = {
    extends: join(ROOT, "tsconfig.build.json"),
    compilerOptions: { rootDir: ROOT, outDir, sourceMap: false, declaration: false },
    include: [join(ROOT, "src")],
    files: [join(import.meta.dirname, "crashing-gateway.ts")],
  };
  writeFileSync(project, JSON.stringify(settings));
  const compiler = join(ROOT, "node_modules", ".bin", "tsc");
  // Wrong types are the business of another check, and finding them takes most of the time.
  const args = ["-p", project, "--noCheck"];
  const result = spawnSync(compiler, args, { cwd: ROOT, encoding: "utf8" });
  const crashingFile = join(outDir, "test", "e2e", "crash", "crashing-gateway.js");
  const shippedFile = join(outDir, "src", "cli", "main.js");
  if (!existsSync(crashingFile)) throw new Error(`not built: ${result.stdout} ${result.stderr}`);
  copyFileSync(join(ROOT, "package.json"), join(outDir, "package.json"));
  return { crashingFile, shippedFile, remove: () => rmSync(folder, { recursive: true }) };
}
