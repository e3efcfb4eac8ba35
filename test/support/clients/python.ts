import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { clientFolder } from "./client-folder.ts";

const run = promisify(execFile);

/** The Python clients need Python 3.9 and its module `venv`. */
const PROGRAM = "python3";
const CHECK = "import sys, venv; sys.exit(sys.version_info < (3, 9))";

export function hasPython(): boolean {
  return spawnSync(PROGRAM, ["-c", CHECK]).status === 0;
}

export async function pythonWith(packages: readonly string[]): Promise<string> {
  const folder = await clientFolder({
    name: "python",
    pins: packages,
    make: async (made) => {
      await run(PROGRAM, ["-m", "venv", made]);
      const options = ["--quiet", "--disable-pip-version-check"];
      await run(join(made, "bin", "pip"), ["install", ...options, ...packages]);
    },
  });
  return join(folder, "bin", "python");
}
