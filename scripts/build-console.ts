import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { build } from "vite";

/**
 * Builds the console's pages into `dist/console`, unless the pages there were built from the same
 * sources. `npm start` and the tests run this each time.
 */
const ROOT = resolve(import.meta.dirname, "..");
const PAGES = join(ROOT, "dist/console");
const GUIDES = join(ROOT, "docs/guides");
const STAMP_NAME = ".built-from";
/** A smaller file fits into one packet without compression. */
const COMPRESSED_BYTES_MIN = 1024;

const sources = sourcesDigest();
const stamp = join(PAGES, STAMP_NAME);
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== sources) {
  process.stderr.write("Token Market: building the console's pages…\n");
  // Someone may be reading the old pages, so the new ones replace them only when they are complete.
  const fresh = `${PAGES}.${process.pid}`;
  await buildForProduction(fresh);
  compressAssets(join(fresh, "assets"));
  cpSync(GUIDES, join(fresh, "guides"), { recursive: true });
  writeFileSync(join(fresh, STAMP_NAME), sources);
  rmSync(PAGES, { recursive: true, force: true });
  renameSync(fresh, PAGES);
}

/** Sets NODE_ENV, because a test run's value would put development code into the pages. */
async function buildForProduction(outDir: string): Promise<void> {
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    const configFile = join(ROOT, "console/vite.config.ts");
    await build({ configFile, logLevel: "warn", build: { outDir, emptyOutDir: true } });
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = before;
  }
}

/** Writes compressed copies of the larger texts, so that no request for one has to compress it. */
function compressAssets(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const content = readFileSync(file);
    if (!/\.(js|css|svg|json|md)$/.test(name) || content.length < COMPRESSED_BYTES_MIN) continue;
    // Brotli's best quality is its default.
    writeFileSync(`${file}.br`, brotliCompressSync(content));
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
  }
}

function sourcesDigest(): string {
  const hash = createHash("sha256").update(readFileSync(join(ROOT, "package-lock.json")));
  const files = [join(ROOT, "console"), GUIDES]
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  files.push(import.meta.filename);
  for (const file of files) hash.update(file.slice(ROOT.length)).update(readFileSync(file));
  return hash.digest("hex");
}
