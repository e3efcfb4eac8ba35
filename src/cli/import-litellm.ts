import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { SHIPPED_MANIFESTS } from "../app/index.ts";
import { type Manifest, validateManifest } from "../catalog/index.ts";
import { isOwnVariable, loadConfig } from "../kernel/index.ts";
import {
  CONFIG_BOUNDS,
  filesOf,
  type ListingFinder,
  type MovedConfig,
  type MovedFile,
  moveLitellm,
  type MoveNote,
  type PlannedSetting,
  priceFileListings,
  rawSetting,
  readYaml,
  type Setting,
  shippedIds,
  shippedListings,
  type YamlBounds,
  type YamlReading,
} from "../listing-tools/index.ts";
import { clock, UsageFault, type CommandAnswer, type Flags, textsOf } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { readSourceFile } from "./read-source-file.ts";

/** Moves a LiteLLM configuration, and writes the result where `--write` says. */
export async function importLitellm(
  context: CommandContext,
  file: string,
  flags: Flags,
): Promise<CommandAnswer> {
  const reading = readTree(file, CONFIG_BOUNDS);
  if (!reading.ok) throw new UsageFault(`${file} ${reading.message}`);
  const keys = await readExport(flags, "keys");
  const teams = await readExport(flags, "teams");
  const moved = moveLitellm({
    config: reading.value,
    ...(keys === undefined ? {} : { keys }),
    ...(teams === undefined ? {} : { teams }),
    nowMs: clock.nowMs(),
    finder: {
      shipped: shippedListings(shippedManifests()),
      shippedIds: shippedIds(shippedManifests()),
      fromPriceFile: await readPrices(flags),
    },
    isOwnVariable,
    addressOf: (name) => (ADDRESS_NAME.test(name) ? context.env[name] : undefined),
    settingProblem,
  });
  const { write } = textsOf(flags);
  const written = write !== undefined ? writeFiles(write, filesOf(moved)) : [];
  return {
    json: { ok: moved.listings.length > 0, ...moved, written },
    text: textOf(moved, written),
    exitCode: moved.listings.length > 0 ? 0 : 1,
  };
}

/** Of variables that are read: an address, never a key. */
const ADDRESS_NAME = /(BASE|URL|URI|ENDPOINT|HOST|ADDRESS|REGION|REGION_NAME)$/;

function readTree(file: string, bounds: YamlBounds): YamlReading {
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new UsageFault(`${file}: there is no such file`);
  }
  if (statSync(file).size > bounds.bytesMax) {
    return { ok: false, message: `is larger than ${bounds.bytesMax} bytes; split it` };
  }
  return readYaml(readFileSync(file, "utf8"), bounds);
}

async function readExport(flags: Flags, name: "keys" | "teams"): Promise<Setting | undefined> {
  const file = textsOf(flags)[name];
  if (file === undefined) return undefined;
  return rawSetting((await readSourceFile(file, undefined)).document);
}

async function readPrices(flags: Flags): Promise<ListingFinder["fromPriceFile"]> {
  const { prices } = textsOf(flags);
  if (prices === undefined) return () => undefined;
  return priceFileListings(await readSourceFile(prices, undefined));
}

/** Why `tokenmarket.yaml` may not have this line. */
function settingProblem({ setting, value }: PlannedSetting): string | undefined {
  const yamlText = `${setting}: ${JSON.stringify(value)}\n`;
  const outcome = loadConfig({ flags: {}, env: {}, yamlText });
  return outcome.kind === "invalid" ? outcome.problems[0] : undefined;
}

/** The manifests of the package; one that is not valid is left out, as if it were not there. */
function shippedManifests(): Manifest[] {
  if (!existsSync(SHIPPED_MANIFESTS)) return [];
  const files = readdirSync(SHIPPED_MANIFESTS).filter((name) => name.endsWith(".json"));
  return files.toSorted().flatMap((name) => {
    const verdict = validateManifest(readFileSync(join(SHIPPED_MANIFESTS, name), "utf8"));
    return verdict.ok ? [verdict.manifest] : [];
  });
}

/** Writes all of the files, or none when one of them is there with another text. */
function writeFiles(folder: string, files: readonly MovedFile[]): string[] {
  const targets = files.map((file) => ({ ...file, target: join(folder, file.path) }));
  const taken = targets.find(
    ({ target, text }) => existsSync(target) && readFileSync(target, "utf8") !== text,
  );
  if (taken !== undefined) {
    throw new UsageFault(`${taken.target} is there already; name another folder with --write`);
  }
  for (const { target, text, isScript } of targets) {
    if (existsSync(target)) continue;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text, { mode: isScript ? OWNER_RUNS : EVERYONE_READS });
  }
  return targets.map(({ target }) => target);
}

const OWNER_RUNS = 0o700;
const EVERYONE_READS = 0o644;

function textOf({ listings, notes, manifests }: MovedConfig, written: readonly string[]): string {
  const staged = listings.filter(({ isReady }) => !isReady);
  const names = [...new Set(manifests.flatMap(({ endpoint }) => endpoint.api_key_env ?? []))];
  const count = (fate: MoveNote["fate"]): number =>
    notes.filter((note) => note.fate === fate).length;
  const ready = new Map(notes.map((note) => [note.path, note.next]));
  return [
    `${counted(listings.length, "listing")} in ${counted(manifests.length, "manifest")}, ${staged.length} staged`,
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

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function noteLine({ path, what, why, next }: MoveNote): string {
  return `  ${path}: ${what}; ${why}${next === "" ? "" : `. Next: ${next}`}`;
}
