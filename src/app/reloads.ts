import { type CatalogHolder, type KeyOwners, priceJumps } from "../catalog/index.ts";
import { byGateway } from "../changes/index.ts";
import {
  type Config,
  type Environment,
  type LiveConfig,
  pathsOf,
  type PreparedSettings,
  secretsIn,
  secretsOf,
  SettingsFault,
} from "../config/index.ts";
import type { EventCounts } from "./event-counts.ts";
import { loadCatalog } from "./load-catalog.ts";
import type { Backend } from "./open-backend.ts";
import {
  catalogSources,
  type CatalogOptions,
  type GoodCatalog,
  keysOf,
  logNotes,
} from "./open-catalog.ts";
import { pricePins } from "./price-pins.ts";
import type { SecretReading } from "./secret-files.ts";
import { settingsChange } from "./settings-change.ts";
import { watchFiles } from "./watch-files.ts";
import { watchManifests } from "./watch-manifests.ts";
import { watchPrices } from "./watch-prices.ts";

/** Where the settings of a running server come from. */
export interface SettingsSource {
  /** A change of it is noticed; it need not be there. */
  readonly file: string;
  /** Reads all of them anew. Throws a `SettingsFault` with everything that is wrong. */
  read(secrets: {
    readonly env: Environment;
    readonly problems: ReadonlyMap<string, string>;
  }): Config;
}

interface ReloadParts {
  readonly options: CatalogOptions & {
    readonly settings?: SettingsSource;
    readonly backend: Pick<Backend, "changeLog">;
  };
  readonly events: EventCounts;
  readonly live: LiveConfig;
  readonly holder: CatalogHolder;
  readonly keyOwners: KeyOwners;
}

/** What was read and checked, and is not in force yet. */
interface Reading {
  readonly secrets: SecretReading | undefined;
  readonly settings: PreparedSettings;
  readonly catalog: GoodCatalog | undefined;
}

/**
 * Reads settings, secrets and manifests while the program runs, one reload after the other: all of
 * one is put into force in one step, or nothing.
 */
export class Reloads {
  readonly #parts: ReloadParts;
  #keyOwners: KeyOwners;
  /** What was read last is what stays. */
  #last: Promise<void> = Promise.resolve();
  #stops: readonly (() => void)[] = [];

  constructor(parts: ReloadParts) {
    this.#parts = parts;
    this.#keyOwners = parts.keyOwners;
    // They are compiled into the catalog, which is always built anew.
    const names = ["poolsFile", "providerKeyOrigins", "decisionsPublicForm"] as const;
    parts.live.follow(names, () => () => undefined);
  }

  /** An operator asked for it: the log answers though nothing has changed. */
  all(): void {
    this.#enqueue(() => this.#reload({ isAsked: true }));
  }

  /** Reloads when a file has changed, and also what has changed since the start began. */
  watch(): void {
    const { options, live, holder } = this.#parts;
    const { settings, secrets, clock, config } = options;
    const changed = (): void => this.#enqueue(() => this.#reload({ isAsked: false }));
    const files = (): readonly string[] => {
      const { poolsFile } = live.current;
      const named = poolsFile === "" ? [] : [poolsFile];
      return [
        ...(secrets?.paths ?? []),
        ...(settings === undefined ? [] : [settings.file]),
        ...named,
      ];
    };
    this.#stops = [
      watchManifests(config.manifestsDir, changed),
      watchFiles(files, changed),
      watchPrices({ catalog: holder, clock }, () => this.#enqueue(() => this.#rebuild())),
    ];
    if (this.#hasChangedSinceStart()) changed();
  }

  /** Resolves when no reload is under way. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#last;
  }

  #enqueue(reload: () => Promise<void>): void {
    this.#last = this.#last.then(reload).catch((fault: unknown) => {
      // A file may go away between the listing of its folder and its reading.
      this.#parts.events.reload("catalog", "failed");
      this.#parts.options.log.error({ err: fault }, "the old catalog stays in use");
    });
  }

  #hasChangedSinceStart(): boolean {
    const { options, live } = this.#parts;
    const secrets = options.secrets?.read();
    if ((secrets?.changed.length ?? 0) > 0) return true;
    try {
      const { changed, waiting } = live.prepare(this.#readSettings(secrets));
      return changed.length > 0 || waiting.length > 0;
    } catch {
      // The reload says what is wrong.
      return true;
    }
  }

  async #reload({ isAsked }: { readonly isAsked: boolean }): Promise<void> {
    const { options, events } = this.#parts;
    const secrets = options.secrets?.read();
    if (secrets !== undefined) options.hide?.(secretsIn(secrets.env));
    const settings = this.#prepareSettings(secrets);
    if (settings === undefined) return;
    const catalog = await this.#loadCatalog(settings.config, secrets);
    if (catalog === "failed") return;
    const hasChanged = settings.changed.length > 0 || (secrets?.changed ?? []).length > 0;
    events.reload("settings", hasChanged ? "swapped" : "unchanged");
    await this.#putIntoForce({ secrets, settings, catalog }, isAsked);
  }

  /** Prices have begun: with the settings and secrets in force, however their files are now. */
  async #rebuild(): Promise<void> {
    const { live } = this.#parts;
    const catalog = await this.#loadCatalog(live.current, undefined);
    if (catalog !== "failed" && catalog !== undefined) this.#swap(catalog);
  }

  #readSettings(secrets: SecretReading | undefined): Config {
    const { options, live } = this.#parts;
    const { settings, env } = options;
    if (settings === undefined) return live.current;
    return settings.read(secrets ?? { env, problems: NO_PROBLEMS });
  }

  /** Undefined: they cannot be used, and the log says why. */
  #prepareSettings(secrets: SecretReading | undefined): PreparedSettings | undefined {
    const { options, live, events } = this.#parts;
    try {
      const next = this.#readSettings(secrets);
      options.hide?.(secretsOf(next));
      return live.prepare(next);
    } catch (fault) {
      events.reload("settings", "failed");
      const why = fault instanceof SettingsFault ? { problems: fault.problems } : { err: fault };
      options.log.error(why, "the settings are not valid: nothing has changed");
      return undefined;
    }
  }

  /** Undefined: it is the same. */
  async #loadCatalog(
    config: Config,
    secrets: SecretReading | undefined,
  ): Promise<GoodCatalog | undefined | "failed"> {
    const { options, holder, events } = this.#parts;
    const keys = secrets && { env: secrets.env, fileProblems: secrets.problems };
    const sources = { ...catalogSources(options, config), ...keys, keyOwners: this.#keyOwners };
    const loaded = loadCatalog(sources);
    if (!loaded.ok) {
      events.reload("catalog", "failed");
      const { issues } = loaded;
      options.log.error({ issues }, "the manifests are not valid: the old catalog stays in use");
      return "failed";
    }
    if (loaded.catalog.buildId === holder.current.buildId) {
      events.reload("catalog", "unchanged");
      return undefined;
    }
    // A start takes any prices, so that an operator who means these restarts.
    const jumps = priceJumps(holder.current, loaded.catalog);
    if (jumps.length > 0) {
      events.reload("catalog", "failed");
      const message =
        "prices changed by a factor of 100 or more: the old catalog stays in use; restart if they are meant";
      options.log.error({ listings: jumps.slice(0, 20) }, message);
      return "failed";
    }
    try {
      // An attempt refers to its prices, so they are stored before anybody can be routed by them.
      await options.backend.ledgerBatchStore.ensurePricePins(pricePins(loaded.catalog));
    } catch (fault) {
      events.reload("catalog", "failed");
      const message = "the new prices could not be stored: the old catalog stays in use";
      options.log.error({ err: fault }, message);
      return "failed";
    }
    return loaded;
  }

  /** Everything is checked: nothing of this can fail, and no request sees a half of it. */
  async #putIntoForce(read: Reading, isAsked: boolean): Promise<void> {
    const { options, live, holder } = this.#parts;
    const { secrets, settings, catalog } = read;
    const before = live.current;
    const wasWaiting = live.waiting;
    const { env } = secrets ?? options;
    options.hide?.(keysOf((catalog ?? { catalog: holder.current }).catalog, env));
    const variables = secrets?.changed ?? [];
    const isNews =
      settings.changed.length > 0 ||
      variables.length > 0 ||
      settings.waiting.join() !== wasWaiting.join();
    // At either level: the new one may hide it, as the old one may.
    const isShown = options.log.isLevelEnabled("info");
    if (isShown && (isAsked || isNews)) this.#logReload(settings, variables);
    settings.apply();
    if (secrets !== undefined) options.secrets?.use(secrets);
    if (catalog !== undefined) this.#swap(catalog);
    if (!isShown && (isAsked || isNews)) this.#logReload(settings, variables);
    await this.#record(before, settings, variables);
  }

  #logReload({ changed, waiting }: PreparedSettings, variables: readonly string[]): void {
    this.#parts.options.log.info(
      { changed: pathsOf(changed), waiting_for_restart: pathsOf(waiting), variables },
      "settings and secrets were read again",
    );
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

  /** A setting that helps to find out why a database is away follows without it. */
  async #record(
    before: Config,
    settings: PreparedSettings,
    variables: readonly string[],
  ): Promise<void> {
    if (settings.changed.length === 0 && variables.length === 0) return;
    const { changeLog } = this.#parts.options.backend;
    const change = settingsChange(before, settings, variables);
    try {
      await changeLog.write(byGateway("reload"), async (_, note) => note(change));
    } catch (fault) {
      const message = "the change log has no row of changed settings, which are in force";
      this.#parts.options.log.warn({ err: fault, ...change }, message);
    }
  }
}

const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();
