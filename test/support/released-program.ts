import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { brotliDecompressSync } from "node:zlib";

import type { ProgramPlace } from "./program.ts";
import { withResource } from "./with-resource.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Below node_modules, so that what is not in the kept build is found. */
const CACHE = join(ROOT, "node_modules", ".cache");

/** The last release, as operators have it: a build that this repository keeps. */
export const RELEASED_VERSION = "0.1.0";

interface ReleasedProgram extends ProgramPlace {
  readonly folder: string;
}

/** The kept build in a folder of its own, for the tests of the calling file or `describe`. */
export function withReleasedProgram(): ReleasedProgram {
  return withResource(unpackRelease, ({ folder }) => rmSync(folder, { recursive: true }));
}

function unpackRelease(): ReleasedProgram {
  const kept = join(ROOT, "test/released", RELEASED_VERSION);
  const packed = readFileSync(join(kept, "program.json.br"));
  const sha256 = createHash("sha256").update(packed).digest("hex");
  if (!readFileSync(join(kept, "README.md"), "utf8").includes(sha256)) {
    throw new Error(`${kept}: program.json.br is not the one whose SHA-256 is in README.md`);
  }
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "released-"));
  const files = JSON.parse(brotliDecompressSync(packed).toString()) as Record<string, string>;
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  // Its pages are not kept: it serves those of this run.
  cpSync(join(ROOT, "dist", "console"), join(folder, "dist", "console"), { recursive: true });
  return { folder, command: [process.execPath, join(folder, "dist/cli/main.js")], cwd: ROOT };
}
