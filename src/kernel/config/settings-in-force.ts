import { SETTINGS, type Config, type SettingName } from "./settings.ts";

/**
 * The settings that a running server follows. Each function returns the decision that the value
 * makes at a start: if a new value would change that decision, it waits for a restart, as other
 * settings do.
 */
const FOLLOWED: Readonly<Partial<Record<SettingName, (config: Config) => unknown>>> = {
  logLevel: () => true,
  encryptionKey: ({ encryptionKey }) => encryptionKey !== "",
  stripeSecretKey: ({ stripeSecretKey: key }) => (key === "" ? "off" : isLiveKey(key)),
  stripeWebhookSecret: ({ stripeWebhookSecret }) => stripeWebhookSecret !== "",
};

/** Settings that only commands read, each time they start: a change of them waits for no restart. */
const OF_COMMANDS: ReadonlySet<SettingName> = new Set([
  "retentionAttemptsDays",
  "retentionChangesDays",
]);

/** The comparison of newly read settings with those in force. */
export interface ReadSettings {
  /**
   * The configuration that would apply now. Settings that wait for a restart have their value of
   * the start.
   */
  readonly config: Config;
  /** Paths of the settings that differ from those in force, and take effect now. */
  readonly changed: readonly string[];
  /** Paths of the settings that differ from those at the start, and wait for a restart. */
  readonly waiting: readonly string[];
}

/** The settings of a running server: those of its start, except for the few that it follows. */
export class SettingsInForce {
  #current: Config;
  #waiting: readonly string[] = [];

  constructor(config: Config) {
    this.#current = config;
  }

  get current(): Config {
    return this.#current;
  }

  /** Paths of the settings that were changed since the start and wait for a restart. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  /** Compares `next` with the settings in force. Nothing changes before `use`. */
  compare(next: Config): ReadSettings {
    const names = Object.keys(SETTINGS) as SettingName[];
    const differing = names.filter((name) => next[name] !== this.#current[name]);
    const changed = differing.filter((name) => follows(name, this.#current, next));
    const waiting = differing.filter((name) => !changed.includes(name) && !OF_COMMANDS.has(name));
    const values = Object.fromEntries(changed.map((name) => [name, next[name]]));
    return {
      config: Object.freeze({ ...this.#current, ...values }),
      changed: changed.map(pathOf),
      waiting: waiting.map(pathOf),
    };
  }

  use({ config, waiting }: ReadSettings): void {
    this.#current = config;
    this.#waiting = waiting;
  }
}

/** True if a key of the payment provider moves real money. */
export function isLiveKey(stripeSecretKey: string): boolean {
  return /^[a-z]+_live_/.test(stripeSecretKey);
}

function follows(name: SettingName, current: Config, next: Config): boolean {
  const decisionOf = FOLLOWED[name];
  return decisionOf !== undefined && decisionOf(current) === decisionOf(next);
}

function pathOf(name: SettingName): string {
  return SETTINGS[name].path;
}
