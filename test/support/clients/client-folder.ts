import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Installs clients that are too heavy or too new to be dependencies of this repository. Each has a
 * folder outside of it, created once for these exact versions and kept for the next deep check.
 */
export async function clientFolder(input: {
  readonly name: string;
  /** These versions decide the content: other pins are another folder. */
  readonly pins: unknown;
  readonly make: (folder: string) => Promise<void>;
}): Promise<string> {
  const pins = JSON.stringify(input.pins);
  const digest = createHash("sha256").update(pins).digest("hex").slice(0, 12);
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "tokenmarket-clients", `${input.name}-${digest}`);
  const done = join(folder, "complete");
  if (existsSync(done)) return folder;
  process.stderr.write(`clients: installing ${pins} into ${folder}\n`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await input.make(folder);
  writeFileSync(done, "");
  return folder;
}

/** Installs npm packages of exact versions, with a module that exports what `exports` says. */
export async function npmFolder(input: {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly module?: string;
  /** Some packages install their binary by a script. */
  readonly runsScripts?: boolean;
}): Promise<string> {
  const { name, dependencies, module, runsScripts = false } = input;
  return await clientFolder({
    name,
    pins: [dependencies, module],
    make: async (folder) => {
      const packageJson = { private: true, type: "module", dependencies };
      writeFileSync(join(folder, "package.json"), JSON.stringify(packageJson));
      if (module !== undefined) writeFileSync(join(folder, "clients.mjs"), module);
      // npm must not refuse a package for a newer Node: another Node than that of the tests runs
      // it.
      const options = ["--engine-strict=false", "--no-audit", "--no-fund", "--loglevel=error"];
      if (!runsScripts) options.push("--ignore-scripts");
      await run("npm", ["install", ...options], { cwd: folder });
    },
  });
}
