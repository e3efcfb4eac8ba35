import { execFile } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { newFolder } from "./run-folder.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const NOT_CLONED = new Set(["node_modules", ".git", "dist", "artefacts", "data", "coverage"]);

const run = promisify(execFile);

/** The package as installed in a folder outside the repository. */
export type PackedProgram = Awaited<ReturnType<typeof installPackedProgram>>;

/** Packs a copy of the repository, and installs the tarball into an empty folder. */
export async function installPackedProgram() {
  const root = newFolder("packed");
  const { tarball, files } = await packProgram(join(root, "repository"), root);
  const folder = join(root, "empty");
  await install(tarball, folder);
  return {
    /** Contains nothing but `node_modules` and npm's own files. */
    folder,
    packageFolder: join(folder, "node_modules", "tokenmarket"),
    files,
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

async function packProgram(repository: string, target: string) {
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
  // npm's default of `engine-strict`, whatever this machine's is. `overrides` count only in a root
  // package, so a customer gets newer versions of some packages, which may ask for another Node.
  const args = ["install", "--engine-strict=false", "--no-audit", "--prefer-offline", tarball];
  await run("npm", args, { cwd: folder, maxBuffer: 2 ** 26 });
}
