import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Returns a folder outside the repository, made once for these versions and kept. */
export async function clientFolder(input: {
  readonly name: string;
  /** Exact versions of the content; other versions get another folder. */
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

/** Installs npm packages of exact versions. `module` is the text of a module that exports them. */
export async function npmFolder(input: {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly module?: string;
  /** True if a package installs its binary by a script; default: false. */
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
      // A Node other than that of the tests may run the package, so npm must not check the version.
      const options = ["--engine-strict=false", "--no-audit", "--no-fund", "--loglevel=error"];
      if (!runsScripts) options.push("--ignore-scripts");
      await run("npm", ["install", ...options], { cwd: folder });
    },
  });
}
