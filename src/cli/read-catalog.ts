import { loadCatalog } from "../app/index.ts";
import type { Catalog } from "../catalog/index.ts";
import type { Config } from "../kernel/index.ts";
import { clock, UsageFault } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/**
 * What the manifests of this place list, for commands that check a provider's or a model's id.
 * Private addresses included: whether one may be asked is decided where it is asked. Throws a
 * `UsageFault` that names each file that cannot be compiled, and why.
 */
export function readCatalog({ env }: CommandContext, { manifestsDir }: Config): Catalog {
  const loaded = loadCatalog({ manifestsDir, env, clock, allowPrivateUpstreams: true });
  if (loaded.ok) return loaded.catalog;
  const lines = loaded.issues.map((each) => `${each.file}${each.pointer}: ${each.message}`);
  throw new UsageFault(`the manifests cannot be compiled:\n${lines.join("\n")}`);
}
