import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
/** Below node_modules, so that the compiled modules find their dependencies. */
const CACHE = join(ROOT, "node_modules", ".cache");

/** The program compiled from the sources of this moment: it starts in half the time of its sources. */
export interface CompiledProgram {
  /** What `node` runs: `tokenmarket` as it is shipped. */
  readonly mainFile: string;
  /** The same program with fail points, at which the crash tests end it. */
  readonly crashingFile: string;
}

/** Makes an empty folder for `compileProgram`; whoever makes it removes it. */
export function newProgramFolder(): string {
  mkdirSync(CACHE, { recursive: true });
  return mkdtempSync(join(CACHE, "tokenmarket-"));
}

export function removeProgramFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Compiles program and fail points in one pass into `folder`. The console's pages are linked. */
export function compileProgram(folder: string): CompiledProgram {
  const program = programIn(folder);
  const project = join(folder, "tsconfig.json");
  const settings = {
    extends: join(ROOT, "tsconfig.build.json"),
    compilerOptions: { rootDir: ROOT, outDir: folder, sourceMap: false, declaration: false },
    include: [join(ROOT, "src")],
    files: [join(ROOT, "test/e2e/crash/crashing-gateway.ts")],
  };
  writeFileSync(project, JSON.stringify(settings));
  const compiler = join(ROOT, "node_modules", ".bin", "tsc");
  // Wrong types are the business of another check, and finding them takes most of the time.
  const args = ["-p", project, "--noCheck"];
  const result = spawnSync(compiler, args, { cwd: ROOT, encoding: "utf8" });
  if (!existsSync(program.mainFile))
    throw new Error(`not built: ${result.stdout} ${result.stderr}`);
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  mkdirSync(join(folder, "dist"));
  symlinkSync(join(ROOT, "dist", "console"), join(folder, "dist", "console"));
  return program;
}

export function programIn(folder: string): CompiledProgram {
  return {
    mainFile: join(folder, "src", "cli", "main.js"),
    crashingFile: join(folder, "test", "e2e", "crash", "crashing-gateway.js"),
  };
}
