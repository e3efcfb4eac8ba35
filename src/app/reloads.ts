import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import {
  type Catalog,
  type CatalogHolder,
  type KeyOwners,
  nextBuildMs,
  priceJumps,
} from "../catalog/index.ts";
import { openKeyVault } from "../gateway/index.ts";
import {
  type Config,
  type Environment,
  Job,
  type ReadSettings,
  secretsIn,
  listSecrets,
  type SettingsInForce,
  toReason,
} from "../kernel/index.ts";
import type { EventCounts } from "./event-counts.ts";
import { loadCatalog } from "./load-catalog.ts";
import {
  type CatalogOptions,
  catalogSources,
  type GoodCatalog,
  hasDefaultFolder,
  listProviderKeys,
  logNotes,
  pricePins,
} from "./open-catalog.ts";
import type { SecretReading } from "./secret-files.ts";

export interface SettingsSource {
  /** A file whose changes cause a reload. It may be missing. */
  readonly file: string;
  /** Throws a fault with one line per problem. */
  read(secrets: {
    readonly env: Environment;
    readonly problems: ReadonlyMap<string, string>;
  }): Config;
}

const RETRY_MS = 60_000;

interface ReloadParts {
  readonly options: CatalogOptions & { readonly settings?: SettingsSource };
  readonly events: EventCounts;
  readonly inForce: SettingsInForce;
  readonly holder: CatalogHolder;
  readonly keyOwners: KeyOwners;
}

/**
 * Reloads manifests, secrets and settings while the program runs, one reload after the other. A
 * reload applies all reloadable values in one step, or none; other settings wait for a restart.
 */
export class Reloads {
  readonly #parts: ReloadParts;
  #keyOwners: KeyOwners;
  #last: Promise<void> = Promise.resolve();
  /** True after a fault of the database or a file: the reload is retried though no file changes. */
  #isBroken = false;
  #stop = (): void => undefined;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
    this.#keyOwners = parts.keyOwners;
  }

  /** Reloads because an operator asks for it: logs the result even if nothing has changed. */
  all(): void {
    this.#enqueue({ isAsked: true });
  }

  /** Reloads if a file changes or `nextBuildMs` is reached, even if that was during the start. */
  watch(): void {
    const { settings, secrets, config } = this.#parts.options;
    const named = [config.manifestsDir, config.poolsFile, settings?.file ?? ""];
    const paths = [...named.filter((path) => path !== ""), ...(secrets?.paths ?? [])];
    this.#stop = watchState(
      async () => `${await readFileState(paths)}\n${this.#due()}`,
      () => this.#enqueue({ isAsked: false }),
    );
  }

  /** Returns a text that changes every minute while a reload is due although no file changed. */
  #due(): string {
    const { options, holder } = this.#parts;
    const nowMs = options.clock.nowMs();
    const isDue = this.#isBroken || nextBuildMs(holder.current) <= nowMs;
    return isDue ? String(Math.floor(nowMs / RETRY_MS)) : "";
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#last;
  }

  #enqueue(asked: { readonly isAsked: boolean }): void {
    const reloaded = this.#last.then(() => this.#reload(asked));
    this.#last = reloaded.catch((err: unknown) => {
      // For example, a file has vanished between the listing of its folder and its reading.
      this.#isBroken = true;
      this.#parts.events.reload("catalog", "failed");
      this.#parts.options.log.error({ err }, "the old catalog stays in use");
    });
  }

  async #reload({ isAsked }: { readonly isAsked: boolean }): Promise<void> {
    const { options, events, inForce, holder } = this.#parts;
    this.#isBroken = false;
    const secrets = options.secrets?.read();
    const settings = this.#readSettings(secrets);
    if (settings === undefined) return;
    const catalog = await this.#loadCatalog(secrets);
    if (catalog === "failed") return;
    // Everything is valid by now: applying cannot fail, and no request sees half of a reload.
    const variables = secrets?.changed ?? [];
    const hasChanged = settings.changed.length > 0 || variables.length > 0;
    const isNews = hasChanged || settings.waiting.join() !== inForce.waiting.join();
    const { env } = secrets ?? options;
    options.hide?.([
      ...secretsIn(env),
      ...listProviderKeys(catalog?.catalog ?? holder.current, env),
    ]);
    const { changed, waiting } = settings;
    const tell = (): void => {
      if (!isAsked && !isNews) return;
      const message = "settings and secrets were read again";
      options.log.info({ changed, waiting_for_restart: waiting, variables }, message);
    };
    // Logs the message before the level changes if the old level shows it, otherwise afterwards.
    const isShown = options.log.isLevelEnabled("info");
    if (isShown) tell();
    const { logLevel } = settings.config;
    if (logLevel !== inForce.current.logLevel) options.log.level = logLevel;
    inForce.use(settings);
    if (secrets !== undefined) options.secrets?.use(secrets);
    if (catalog !== undefined) this.#swap(catalog);
    events.reload("settings", hasChanged ? "swapped" : "unchanged");
    if (!isShown) tell();
  }

  /** Returns undefined if the settings cannot be used; the log says why. */
  #readSettings(secrets: SecretReading | undefined): ReadSettings | undefined {
    const { options, inForce, events } = this.#parts;
    const { settings: source, env, hide, log } = options;
    try {
      const next = source?.read(secrets ?? { env, problems: NO_PROBLEMS }) ?? inForce.current;
      hide?.(listSecrets(next));
      const settings = inForce.compare(next);
      openKeyVault(settings.config.encryptionKey);
      return settings;
    } catch (fault) {
      events.reload("settings", "failed");
      const problems = toReason(fault).split("\n");
      log.error({ problems }, "the settings are not valid: nothing has changed");
      return undefined;
    }
  }

  async #loadCatalog(
    secrets: SecretReading | undefined,
  ): Promise<GoodCatalog | undefined | "failed"> {
    const { options, holder, events } = this.#parts;
    const keys = secrets && { env: secrets.env, fileProblems: secrets.problems };
    // Once listings are in use, a missing folder is an error and must not remove them.
    const isFolderOptional =
      hasDefaultFolder(options.config) && holder.current.deployments.length === 0;
    const more = { keyOwners: this.#keyOwners, isFolderOptional };
    const loaded = loadCatalog({ ...catalogSources(options), ...keys, ...more });
    if (!loaded.ok) {
      events.reload("catalog", "failed");
      const { issues } = loaded;
      options.log.error({ issues }, "the manifests are not valid: the old catalog stays in use");
      return "failed";
    }
    if (isSameCatalog(loaded.catalog, holder.current)) {
      events.reload("catalog", "unchanged");
      return undefined;
    }
    // A jump by a factor of 100 is refused as a likely mistake. An operator who intends it can
    // restart, because a start compares no prices.
    const jumps = priceJumps(holder.current, loaded.catalog);
    if (jumps.length > 0) {
      events.reload("catalog", "failed");
      const message =
        "prices changed by a factor of 100 or more: the old catalog stays in use; restart if they are meant";
      options.log.error({ listings: jumps.slice(0, 20) }, message);
      return "failed";
    }
    try {
      // An attempt refers to its prices, so they are stored before a request can be routed by them.
      await options.backend.ledgerBatchStore.ensurePricePins(pricePins(loaded.catalog));
    } catch (fault) {
      this.#isBroken = true;
      events.reload("catalog", "failed");
      const message = "the new prices could not be stored: the old catalog stays in use";
      options.log.error({ err: fault }, message);
      return "failed";
    }
    return loaded;
  }

  #swap(loaded: GoodCatalog): void {
    const { options, holder, events } = this.#parts;
    holder.swap(loaded.catalog);
    this.#keyOwners = loaded.keyOwners;
    events.reload("catalog", "swapped");
    logNotes(options.log, loaded);
    const { buildId, models } = loaded.catalog;
    options.log.info({ build_id: buildId, models: models.length }, "catalog swapped");
  }
}

/** Compares the bytes too: the build id ignores white space, but a verdict is for exact bytes. */
function isSameCatalog(one: Catalog, other: Catalog): boolean {
  const hashes = ({ deployments }: Catalog): string =>
    deployments.map(({ id, manifestSha256 }) => `${id} ${manifestSha256}`).join();
  return one.buildId === other.buildId && hashes(one) === hashes(other);
}

const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();

const LOOK_EVERY_MS = 2_000;
const SETTLE_MS = 200;
const SETTLE_ROUNDS_MAX = 25;

/**
 * Calls `changed` after the first look, and whenever the text that `look` returns changes. Returns
 * a function that stops the polling. It polls, because no event reports a file that is replaced
 * through symbolic links, as Kubernetes does, or a file on a network file system.
 */
export function watchState(
  look: () => Promise<string>,
  changed: () => void,
  everyMs: number = LOOK_EVERY_MS,
): () => void {
  let seen = "";
  const job = new Job(
    everyMs,
    async (isStopping) => {
      const now = await settled(look, seen);
      if (now !== seen && !isStopping()) changed();
      seen = now;
    },
    // If `look` throws, this starts a reload, which finds and reports the same fault.
    changed,
  );
  job.startNow();
  return () => void job.close();
}

/** Waits until two calls of `look` agree, for at most 25 calls: editors may write in steps. */
async function settled(look: () => Promise<string>, seen: string): Promise<string> {
  let before = seen;
  for (let round = 0; round < SETTLE_ROUNDS_MAX; round += 1) {
    const now = await look();
    if (now === before) return now;
    before = now;
    await sleep(SETTLE_MS, undefined, { ref: false });
  }
  return before;
}

/** Returns a text that changes when a file, or a `*.json` in a folder, is written or removed. */
export async function readFileState(paths: readonly string[]): Promise<string> {
  const states = paths.map(async (path): Promise<string> => {
    try {
      const file = await stat(path);
      if (!file.isDirectory()) return `${file.ino} ${file.size} ${file.mtimeMs} ${file.ctimeMs}`;
      const names = (await readdir(path)).filter((name) => name.endsWith(".json")).toSorted();
      return `${names.join("/")} ${await readFileState(names.map((name) => join(path, name)))}`;
    } catch (fault) {
      return (fault as { readonly code?: string }).code ?? "away";
    }
  });
  return (await Promise.all(states)).join("\n");
}
