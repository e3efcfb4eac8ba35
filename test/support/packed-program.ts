import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

const ROOT = resolve(import.meta.dirname, "../..");
/** The entries that a fresh clone of the repository does not have. */
const NOT_CLONED = new Set(["node_modules", ".git", "dist", "artefacts", "data", "coverage"]);

const run = promisify(execFile);

/** The package in a folder of its own, away from the repository. */
export interface PackedProgram {
  /** A folder that has nothing but `node_modules`. */
  readonly folder: string;
  /** `node_modules/tokenmarket` in it. */
  readonly packageFolder: string;
  /** Paths in the tarball, sorted. */
  readonly files: readonly string[];
  remove(): void;
}

/**
 * `npm pack` in a copy of the repository, installed into an empty folder as a customer does,
 * with the registry.
 */
export async function installPackedProgram(): Promise<PackedProgram> {
  const root = mkdtempSync(join(tmpdir(), "tokenmarket-packed-"));
  // As root the database runs as another user, who has to get in.
  chmodSync(root, 0o755);
  try {
    const packed = await packProgram(join(root, "repository"), root);
    const folder = join(root, "empty");
    const packageFolder = join(folder, "node_modules", "tokenmarket");
    await install(packed.tarball, folder);
    return {
      folder,
      packageFolder,
      files: packed.files,
      remove: () => rmSync(root, { recursive: true, force: true }),
    };
  } catch (error) {
    rmSync(root, { recursive: true, force: true });
    throw error;
  }
}

interface Packed {
  readonly tarball: string;
  readonly files: readonly string[];
}

async function packProgram(repository: string, target: string): Promise<Packed> {
  cpSync(ROOT, repository, {
    recursive: true,
    filter: (path) => path === ROOT || dirname(path) !== ROOT || !NOT_CLONED.has(basename(path)),
  });
  symlinkSync(join(ROOT, "node_modules"), join(repository, "node_modules"));
  const args = ["pack", "--json", "--pack-destination", target];
  const { stdout } = await run("npm", args, { cwd: repository, maxBuffer: 2 ** 26 });
  const document = stdout.slice(stdout.search(/^\[$/m));
  const [packed] = JSON.parse(document) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new Error(`npm pack made nothing: ${stdout}`);
  const files = packed.files.map(({ path }) => path).sort();
  return { tarball: join(target, packed.filename), files };
}

async function install(tarball: string, folder: string): Promise<void> {
  mkdirSync(folder);
  // npm's own default, whatever this machine says: `overrides` count for the root package only, so a
  // customer gets newer packages below ours than the project does, with other wishes for Node.
  const args = ["install", "--engine-strict=false", "--no-audit", "--prefer-offline", tarball];
  await run("npm", args, { cwd: folder, maxBuffer: 2 ** 26 });
}
