import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import { listJsonFiles, loadCatalog, PRIVATE_NOTE, renderIssue } from "../app/index.ts";
import {
  type CatalogIssue,
  compileCatalog,
  keyProblems,
  type Manifest,
  type ManifestFile,
  parseKeyOrigins,
  publishedSchema,
  validateManifest,
} from "../catalog/index.ts";
import { isOwnVariable } from "../kernel/index.ts";
import {
  answering,
  clock,
  type CommandAnswer,
  type CommandContext,
  type Flags,
  OPTIONS,
  pickTexts,
  readConfig,
  UsageFault,
} from "./command-context.ts";
import { addManifestImportCommand } from "./manifest-import-command.ts";
import { addManifestInit } from "./manifest-init-command.ts";
import { addManifestRefreshCommand } from "./manifest-refresh-command.ts";
import { diffManifests } from "../listing-tools/index.ts";
import { describeDifference } from "./describe-difference.ts";
import { manifestOfProvider, readManifestFile } from "./manifest-files.ts";
import { writeWhole } from "./replace-file.ts";

export function addManifestCommand(program: Command, context: CommandContext): void {
  const manifest = program.command("manifest").description("check provider manifests");
  manifest
    .command("check <files...>")
    .description("report every problem of these manifests or folders; exit 1 when there is one")
    .option(...OPTIONS.json)
    .action(
      answering(context, (_, named: string[]) => {
        const files = [...new Set(named.flatMap(manifestFiles))];
        const { providerKeyOrigins } = readConfig(context, {});
        const { issues, notes } = checkFiles(files, providerKeyOrigins);
        const ok = issues.length === 0;
        return {
          json: { ok, issues, notes },
          text: [
            ...(ok ? files.map((file) => `${file}: valid`) : issues.map(renderIssue)),
            ...notes.map((note) => `note: ${renderIssue(note)}`),
          ].join("\n"),
        };
      }),
    );
  manifest
    .command("schema")
    .description("print the JSON Schema (2020-12) of a manifest")
    .option("--json", "accepted; the output is always JSON")
    .action(
      answering(context, () => ({
        json: publishedSchema(),
        text: JSON.stringify(publishedSchema(), undefined, 2),
      })),
    );
  addManifestImportCommand(manifest, context);
  manifest
    .command("diff <old> [new]")
    .description(
      "compare two manifests of a provider by model and price, the second one by default the manifests folder's; exit 1 when any client pays more or something leaves",
    )
    .option(...OPTIONS.manifests)
    .option(...OPTIONS.config)
    .option(...OPTIONS.json)
    .action(answering(context, compare));
  addManifestInit(manifest, context);
  addManifestRefreshCommand(manifest, context);
  addCatalogCommand(program, context);
}

function addCatalogCommand(program: Command, context: CommandContext): void {
  program
    .command("catalog")
    .description("compile the catalog")
    .command("build")
    .description("compile the manifests folder as the server does; exit 1 when it is not valid")
    .option(...OPTIONS.config)
    .option(...OPTIONS.manifests)
    .option("--out <file>", "write the catalog to this file")
    .option(...OPTIONS.json)
    .action(
      answering(context, (_, flags: Flags) => {
        const config = readConfig(context, flags);
        const { env, secrets } = context;
        const loaded = loadCatalog({ ...config, env, fileProblems: secrets.problems, clock });
        if (!loaded.ok) return { json: loaded, text: loaded.issues.map(renderIssue).join("\n") };
        const { buildId, models, deployments } = loaded.catalog;
        const { out } = pickTexts(flags);
        if (out !== undefined) {
          writeWhole(out, `${JSON.stringify({ buildId, models, deployments }, printable, 2)}\n`);
        }
        const { notes, leftOut } = loaded;
        const built = { ok: true, build_id: buildId, models: models.length };
        return {
          json: { ...built, notes, left_out: leftOut },
          text: [
            `build ${buildId}: ${models.length} models, ${deployments.length} deployments`,
            ...notes.map((note) => note.message),
            ...leftOut.map((file) => `${file} is left out: ${PRIVATE_NOTE}`),
          ].join("\n"),
        };
      }),
    );
}

interface FileIssue extends CatalogIssue {
  readonly rule: string;
}

function manifestFiles(path: string): string[] {
  if (!existsSync(path)) throw new UsageFault(`${path}: there is no such file or folder`);
  if (!statSync(path).isDirectory()) return [path];
  const files = listJsonFiles(path);
  if (files.length === 0) throw new UsageFault(`${path}: the folder has no manifest (*.json)`);
  return files.map((file) => join(path, file));
}

/** `issues`: problems of files, misplaced keys, then conflicts between files; `notes`: prices. */
function checkFiles(
  files: readonly string[],
  providerKeyOrigins: string,
): { readonly issues: readonly FileIssue[]; readonly notes: readonly CatalogIssue[] } {
  const parsed = parseKeyOrigins(providerKeyOrigins);
  if (!parsed.ok) throw new UsageFault(`provider_key_origins ${parsed.message}`);
  const manifests: Pick<ManifestFile, "file" | "manifest">[] = [];
  const issues = files.flatMap((file): FileIssue[] => {
    const verdict = validateManifest(readFileSync(file, "utf8"));
    if (verdict.ok) manifests.push({ file, manifest: verdict.manifest });
    const problems = verdict.ok ? [] : verdict.problems;
    return problems.map(({ pointer, rule, message }) => ({ file, pointer, rule, message }));
  });
  const misplaced = keyProblems(manifests, { isOwnVariable, origins: parsed.origins });
  const rules = { own_variable: "key-own-variable", other_origin: "key-other-origin" };
  const all = manifests.map((each) => ({ ...each, sha256: "" }));
  const today = new Date(clock.nowMs()).toISOString().slice(0, 10);
  const together = compileCatalog({ manifests: all, hasKey: () => true, today });
  const conflicts = together.ok ? [] : together.issues;
  const notes = all.flatMap(({ file, manifest }) =>
    pastPriceChanges(manifest, clock.nowMs()).map((note) => ({ file, ...note })),
  );
  const priced = all.flatMap((each) => {
    const built = compileCatalog({ manifests: [each], hasKey: () => true, today: "2000-01-01" });
    const found = (built.ok ? built.notes : []).filter(
      ({ reason }) => reason === "price_implausible" || reason === "purchase_above_price",
    );
    return found.map(({ message }) => ({ file: each.file, pointer: "", message }));
  });
  return {
    issues: [
      ...issues,
      ...misplaced.map(({ kind, ...problem }) => ({ ...problem, rule: rules[kind] })),
      ...conflicts.map((problem) => ({ ...problem, rule: "catalog-conflict" })),
    ],
    notes: [...notes, ...priced],
  };
}

function printable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Set) return [...value];
  return value instanceof Map ? Object.fromEntries(value) : value;
}

/** Notes about changes that are in force: readers expect the current prices in `pricing`. */
export function pastPriceChanges(
  manifest: Manifest,
  nowMs: number,
): readonly Omit<CatalogIssue, "file">[] {
  return Object.entries(manifest.listing_terms ?? {}).flatMap(([model, terms]) => {
    const key = model.replaceAll("~", "~0").replaceAll("/", "~1");
    return (terms.price_changes ?? []).flatMap(({ from }, at) => {
      if (Date.parse(from) > nowMs) return [];
      const message = `in force since ${from}; write its prices into pricing and remove it`;
      return [{ pointer: `/listing_terms/${key}/price_changes/${at}`, message }];
    });
  });
}

function compare(
  context: CommandContext,
  old: string,
  next: string | undefined,
  flags: Flags,
): CommandAnswer {
  const before = readManifestFile(old);
  const { provider } = before.manifest;
  const after =
    next === undefined
      ? manifestOfProvider(readConfig(context, flags).manifestsDir, provider.id)
      : readManifestFile(next);
  if (after.manifest.provider.id !== provider.id) {
    throw new UsageFault(
      `${before.file} is of ${provider.id} and ${after.file} of ${after.manifest.provider.id}: ` +
        "name two manifests of one provider",
    );
  }
  const difference = diffManifests(before.manifest, after.manifest, clock.nowMs());
  const files = { old: before.file, new: after.file };
  return {
    json: { ...difference, files },
    text: describeDifference(difference, files).join("\n"),
  };
}
