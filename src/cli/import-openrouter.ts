import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { SHIPPED_MANIFESTS } from "../app/index.ts";
import { validateManifest } from "../catalog/index.ts";
import {
  type AskedModel,
  type ListedHere,
  matchModels,
  type ModelMatch,
  openrouterFields,
  rawSetting,
  type Setting,
  settingAt,
  textAt,
} from "../listing-tools/index.ts";
import {
  readConfig,
  UsageFault,
  type CommandAnswer,
  type Flags,
  textsOf,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readSourceFile } from "./read-source-file.ts";

/** Matches models of OpenRouter with the listings of the manifests folder. */
export async function importOpenrouter(
  context: CommandContext,
  models: readonly string[],
  flags: Flags,
): Promise<CommandAnswer> {
  const { manifestsDir } = readConfig(context, flags);
  const isNamed = textsOf(flags)["manifests"] !== undefined;
  if (isNamed && !existsSync(manifestsDir)) {
    throw new UsageFault(`--manifests: there is no folder ${manifestsDir}`);
  }
  const folder = existsSync(manifestsDir) ? manifestsDir : SHIPPED_MANIFESTS;
  const asked = await askedModels(models);
  const matches = matchModels(asked, listedIn(folder));
  const ok = matches.every(({ kind }) => kind !== "none");
  return {
    json: { ok, manifests: folder, models: matches, request_fields: openrouterFields },
    text: textOf(matches),
    exitCode: ok ? 0 : 1,
  };
}

/** Ids as they were given, or those of one file or address: a list of models, or of their ids. */
async function askedModels(models: readonly string[]): Promise<AskedModel[]> {
  const [first = ""] = models;
  const isFile = models.length === 1 && (existsSync(first) || first.startsWith("https://"));
  if (!isFile) return models.map((id) => ({ id }));
  const tree = rawSetting((await readSourceFile(first, undefined)).document);
  const list = settingAt(tree, "data") ?? tree;
  const asked = list.kind === "list" ? list.items.flatMap(askedModel) : [];
  if (asked.length > 0) return asked;
  throw new UsageFault(`${first}: has no list of models; save GET /api/v1/models, or give ids`);
}

function askedModel(item: Setting): AskedModel[] {
  if (item.kind === "text") return [{ id: item.text }];
  const id = textAt(item, "id");
  if (id === undefined) return [];
  const canonical = textAt(item, "canonical_slug");
  return [canonical === undefined ? { id } : { id, canonical }];
}

function listedIn(folder: string): ListedHere[] {
  const listed = new Map<string, { providers: string[]; otherNames: string[] }>();
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".json"))) {
    const verdict = validateManifest(readFileSync(join(folder, name), "utf8"));
    if (!verdict.ok) throw new UsageFault(`${join(folder, name)}: is not valid; manifest check it`);
    const { provider, models } = verdict.manifest;
    for (const { id, upstream_id: upstreamId, resolves_to: others = [] } of models) {
      const known = listed.get(id) ?? { providers: [], otherNames: [] };
      known.providers.push(provider.id);
      known.otherNames.push(...(upstreamId === undefined ? [] : [upstreamId]), ...others);
      listed.set(id, known);
    }
  }
  return [...listed].map(([id, known]) => ({ id, ...known }));
}

function textOf(matches: readonly ModelMatch[]): string {
  return matches
    .map(({ asked, kind, listing, providers, why, next }) => {
      const found = listing === null ? "no listing" : `${listing} (${providers.join(", ")})`;
      return `${kind.padEnd("nearest".length)}  ${asked}  ${found}: ${why}${next === "" ? "" : `. Next: ${next}`}`;
    })
    .join("\n");
}
