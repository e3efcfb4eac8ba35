import type { Command } from "commander";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

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
import { hasDefaultFolder, listJsonFiles, SHIPPED_MANIFESTS } from "../app/index.ts";
import { validateManifest } from "../catalog/index.ts";
import { asText, defined, isOwnVariable, loadConfig, type RawJson } from "../kernel/index.ts";
import {
  CONFIG_BOUNDS,
  renderFiles,
  type ListingFinder,
  type MovedConfig,
  type MovedFile,
  moveLitellm,
  type MoveNote,
  type PlannedSetting,
  priceFileListings,
  readYaml,
  shippedIds,
  shippedListings,
  type YamlReading,
  type AskedModel,
  type ListedHere,
  matchModels,
  type ModelMatch,
  openrouterFields,
  asList,
  settingAt,
  textAt,
} from "../listing-tools/index.ts";
import { shippedManifests } from "./manifest-init/write-manifest.ts";
import { readSourceFile } from "./read-source-file.ts";
import { writeWhole } from "./replace-file.ts";

export function addImportCommand(program: Command, context: CommandContext): void {
  const group = program.command("import").description("move in from another gateway");
  group
    .command("litellm <config>")
    .description(
      "make manifests, settings and commands of a LiteLLM configuration, and name everything that " +
        "cannot be carried over; exit 1 when no model could be listed",
    )
    .option("--keys <file>", "the answer of LiteLLM's /key/list?return_full_object=true")
    .option("--teams <file>", "the answer of LiteLLM's /team/list")
    .option("--prices <file>", "LiteLLM's model_prices_and_context_window.json, for other models")
    .option("--write <folder>", "write the result there; no file is overwritten")
    .option(...OPTIONS.json)
    .action(answering(context, importLitellm));
  group
    .command("openrouter <models...>")
    .description(
      "find the listings of models by their OpenRouter ids, or of a file with its model list; " +
        "exit 1 when one has none",
    )
    .option(...OPTIONS.manifests)
    .option(...OPTIONS.json)
    .action(answering(context, importOpenrouter));
}

async function importLitellm(
  context: CommandContext,
  file: string,
  flags: Flags,
): Promise<CommandAnswer> {
  const reading = readTree(file);
  if (!reading.ok) throw new UsageFault(`${file} ${reading.message}`);
  const keys = await readExport(flags, "keys");
  const teams = await readExport(flags, "teams");
  const manifests = shippedManifests();
  const moved = moveLitellm({
    config: reading.value,
    ...defined({ keys, teams }),
    nowMs: clock.nowMs(),
    finder: {
      shipped: shippedListings(manifests),
      shippedIds: shippedIds(manifests),
      fromPriceFile: await readPrices(flags),
    },
    isOwnVariable,
    addressOf: (name) => (ADDRESS_NAME.test(name) ? context.env[name] : undefined),
    settingProblem,
  });
  const { write } = pickTexts(flags);
  const written = write !== undefined ? writeFiles(write, renderFiles(moved)) : [];
  const ok = moved.listings.length > 0;
  return { json: { ok, ...moved, written }, text: renderText(moved, written) };
}

/** Matches variables that hold addresses and not keys, so that the import may read their values. */
const ADDRESS_NAME = /(BASE|URL|URI|ENDPOINT|HOST|ADDRESS|REGION|REGION_NAME)$/;

function readTree(file: string): YamlReading {
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new UsageFault(`${file}: there is no such file`);
  }
  if (statSync(file).size > CONFIG_BOUNDS.bytesMax) {
    return { ok: false, message: `is larger than ${CONFIG_BOUNDS.bytesMax} bytes; split it` };
  }
  return readYaml(readFileSync(file, "utf8"), CONFIG_BOUNDS);
}

async function readExport(flags: Flags, name: "keys" | "teams"): Promise<RawJson | undefined> {
  const file = pickTexts(flags)[name];
  if (file === undefined) return undefined;
  return (await readSourceFile(file, undefined)).document;
}

async function readPrices(flags: Flags): Promise<ListingFinder["fromPriceFile"]> {
  const { prices } = pickTexts(flags);
  if (prices === undefined) return () => undefined;
  return priceFileListings(await readSourceFile(prices, undefined));
}

function settingProblem({ setting, value }: PlannedSetting): string | undefined {
  const yamlText = `${setting}: ${JSON.stringify(value)}\n`;
  const outcome = loadConfig({ flags: {}, env: {}, yamlText });
  return outcome.kind === "invalid" ? outcome.problems[0] : undefined;
}

/** Writes all files, or none if one of them already exists with another text. */
function writeFiles(folder: string, files: readonly MovedFile[]): string[] {
  const targets = files.map((file) => ({ ...file, target: join(folder, file.path) }));
  const taken = targets.find(
    ({ target, text }) => existsSync(target) && readFileSync(target, "utf8") !== text,
  );
  if (taken !== undefined) {
    throw new UsageFault(`${taken.target} is there already; name another folder with --write`);
  }
  for (const { target, text, isScript } of targets.filter((each) => !existsSync(each.target))) {
    mkdirSync(dirname(target), { recursive: true });
    writeWhole(target, text, isScript ? OWNER_RUNS : EVERYONE_READS);
  }
  return targets.map(({ target }) => target);
}

const OWNER_RUNS = 0o700;
const EVERYONE_READS = 0o644;

function renderText(
  { listings, notes, manifests }: MovedConfig,
  written: readonly string[],
): string {
  const staged = listings.filter(({ isReady }) => !isReady);
  const names = [...new Set(manifests.flatMap(({ endpoint }) => endpoint.api_key_env ?? []))];
  const count = (fate: MoveNote["fate"]): number =>
    notes.filter((note) => note.fate === fate).length;
  const ready = new Map(notes.map((note) => [note.path, note.next]));
  return [
    `${formatCount(listings.length, "listing")} in ${formatCount(manifests.length, "manifest")}, ${staged.length} staged`,
    `settings: ${count("carried")} carried, ${count("ignored")} ignored, ${count("not_carried")} not carried`,
    ...listings.map(({ path: [list, at], id, providerId, isReady, stagedBecause }) => {
      const next = ready.get(`${list}[${at}].model_name`) ?? "";
      const state = isReady ? "ready" : `staged: ${stagedBecause.join(", ")}. Next: ${next}`;
      return `  ${id}  ${providerId}  ${state}`;
    }),
    "",
    "not carried:",
    ...notes.filter(({ fate }) => fate === "not_carried").map(noteLine),
    ...(names.length === 0 ? [] : ["", `set in the environment: ${names.join(", ")}`]),
    ...(written.length === 0 ? [] : ["", "written:", ...written.map((each) => `  ${each}`)]),
  ].join("\n");
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function noteLine({ path, what, why, next }: MoveNote): string {
  return `  ${path}: ${what}; ${why}${nextText(next)}`;
}

async function importOpenrouter(
  context: CommandContext,
  named: readonly string[],
  flags: Flags,
): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const { manifestsDir } = config;
  const isThere = existsSync(manifestsDir);
  if (!isThere && (flags["manifests"] !== undefined || !hasDefaultFolder(config))) {
    throw new UsageFault(`there is no folder ${manifestsDir}; name another with --manifests`);
  }
  const folder = isThere ? manifestsDir : SHIPPED_MANIFESTS;
  const asked = await readAskedModels(named);
  const models = matchModels(asked, listedIn(folder));
  const ok = models.every(({ kind }) => kind !== "none");
  return {
    json: { ok, manifests: folder, models, request_fields: openrouterFields },
    text: models.map(matchText).join("\n"),
  };
}

/** The model IDs on the command line, or the IDs in the one file or https URL that it names. */
async function readAskedModels(models: readonly string[]): Promise<AskedModel[]> {
  const [first = ""] = models;
  const isFile = models.length === 1 && (existsSync(first) || first.startsWith("https://"));
  if (!isFile) return models.map((id) => ({ id }));
  const { document } = await readSourceFile(first, undefined);
  const asked = (asList(settingAt(document, "data") ?? document) ?? []).flatMap(readAskedModel);
  if (asked.length > 0) return asked;
  throw new UsageFault(`${first}: has no list of models; save GET /api/v1/models, or give ids`);
}

function readAskedModel(item: RawJson): AskedModel[] {
  const id = asText(item) ?? textAt(item, "id");
  return id === undefined
    ? []
    : [{ id, ...defined({ canonical: textAt(item, "canonical_slug") }) }];
}

function listedIn(folder: string): ListedHere[] {
  const listed = new Map<string, { providers: string[]; otherNames: string[] }>();
  for (const name of listJsonFiles(folder)) {
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

function matchText({ asked, kind, listing, providers, why, next }: ModelMatch): string {
  const found = listing === null ? "no listing" : `${listing} (${providers.join(", ")})`;
  return `${kind.padEnd("nearest".length)}  ${asked}  ${found}: ${why}${nextText(next)}`;
}

function nextText(next: string): string {
  return next === "" ? "" : `. Next: ${next}`;
}
