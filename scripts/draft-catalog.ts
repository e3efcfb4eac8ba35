import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { format } from "prettier";

import { catalogPage } from "./catalog/catalog-page.ts";
import { draftCatalog, readReview } from "./catalog/draft.ts";

/** Returns the texts of the generated files, by their paths in the project folder. */
async function draftedFiles(root: string): Promise<ReadonlyMap<string, string>> {
  const drafted = draftCatalog(root);
  const files = new Map<string, string>();
  for (const { file, manifest } of drafted) {
    const text = JSON.stringify(manifest);
    files.set(`manifests/${file}`, await format(text, { parser: "json", printWidth: 100 }));
  }
  const page = catalogPage(drafted, readReview(root));
  files.set("docs/catalog.md", await format(page, { parser: "markdown", printWidth: 100 }));
  return files;
}

/** Returns stale generated files, and manifests that are neither generated nor the simulator's. */
export async function staleCatalogFiles(root: string): Promise<readonly string[]> {
  const files = await draftedFiles(root);
  const stray = readdirSync(join(root, "manifests"))
    .filter((file) => !file.startsWith("simulator-") && !files.has(`manifests/${file}`))
    .map((file) => `manifests/${file}`);
  const isStale = (file: string, text: string): boolean =>
    !existsSync(file) || readFileSync(file, "utf8") !== text;
  const stale = [...files].filter(([path, text]) => isStale(join(root, path), text));
  return [...stray, ...stale.map(([path]) => path)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL("..", import.meta.url));
  for (const [path, text] of await draftedFiles(root)) writeFileSync(join(root, path), text);
}
