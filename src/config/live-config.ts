import { assert } from "../core/index.ts";
import { SETTINGS, type Config, type Setting, type SettingName } from "./settings.ts";

/** Values of some settings, checked and made into what a part works with; calling it cannot fail. */
export type TakeSettings = () => void;

/** A change of settings that every part has accepted, and that is not in force yet. */
export interface PreparedSettings {
  /** As it will be: what waits for a restart has the value of the start. */
  readonly config: Config;
  /** Settings with another value than the one in force, which follow now. */
  readonly changed: readonly SettingName[];
  /** Settings with another value than the one of the start, which wait for a restart. */
  readonly waiting: readonly SettingName[];
  /** Puts it into force, everywhere. */
  apply(): void;
}

/** What is wrong with settings, beyond each value by itself. */
export class SettingsFault extends Error {
  override readonly name = "SettingsFault";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

interface Follower {
  readonly names: readonly SettingName[];
  readonly prepare: (config: Config) => TakeSettings;
}

/**
 * The settings in force. Those that are marked `live` follow a change, all of one change or none;
 * the others keep the values of the start.
 */
export class LiveConfig {
  #current: Config;
  #waiting: readonly SettingName[] = [];
  readonly #followers: Follower[] = [];

  constructor(config: Config) {
    this.#current = config;
  }

  get current(): Config {
    return this.#current;
  }

  /** What was changed since the start and waits for a restart. */
  get waiting(): readonly SettingName[] {
    return this.#waiting;
  }

  /**
   * Follows some live settings. `prepare` checks new values, throws where they cannot be used, and
   * changes nothing; what it returns puts them into force.
   */
  follow<K extends SettingName>(
    names: readonly K[],
    prepare: (values: Pick<Config, K>) => TakeSettings,
  ): void {
    for (const name of names) assert(isLive(name), "a setting that is followed is marked live");
    this.#followers.push({ names, prepare });
  }

  /** Live settings that no part follows: their mark would be a false promise. */
  get unfollowed(): readonly SettingName[] {
    const followed = new Set(this.#followers.flatMap(({ names }) => names));
    return settingNames().filter((name) => isLive(name) && !followed.has(name));
  }

  /**
   * Asks every part whether it can work with these settings; changes nothing. Throws a
   * `SettingsFault` with all that is wrong.
   */
  prepare(next: Config): PreparedSettings {
    const differing = settingNames().filter((name) => next[name] !== this.#current[name]);
    const changed = differing.filter(isLive);
    const waiting = differing.filter((name) => !isLive(name) && !isOfCommands(name));
    const values = Object.fromEntries(changed.map((name) => [name, next[name]]));
    const config: Config = Object.freeze({ ...this.#current, ...values });
    const takes = this.#askFollowers(config, new Set(changed));
    return {
      config,
      changed,
      waiting,
      apply: () => {
        this.#current = config;
        this.#waiting = waiting;
        for (const take of takes) take();
      },
    };
  }

  #askFollowers(config: Config, changed: ReadonlySet<SettingName>): readonly TakeSettings[] {
    const takes: TakeSettings[] = [];
    const problems: string[] = [];
    for (const { names, prepare } of this.#followers) {
      if (!names.some((name) => changed.has(name))) continue;
      try {
        takes.push(prepare(config));
      } catch (fault) {
        problems.push(fault instanceof Error ? fault.message : String(fault));
      }
    }
    if (problems.length > 0) throw new SettingsFault(problems);
    return takes;
  }
}

/** Paths of settings, as a configuration file has them. */
export function pathsOf(names: readonly SettingName[]): readonly string[] {
  return names.map((name) => SETTINGS[name].path);
}

function settingNames(): readonly SettingName[] {
  return Object.keys(SETTINGS) as SettingName[];
}

function isLive(name: SettingName): boolean {
  return rowOf(name).live === true;
}

function isOfCommands(name: SettingName): boolean {
  return rowOf(name).ofCommands === true;
}

function rowOf(name: SettingName): Setting<unknown> {
  return SETTINGS[name];
}
