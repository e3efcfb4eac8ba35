import { SETTINGS, type Config, type SettingName } from "./settings.ts";

/**
 * The settings that a running server follows, each with what it decides at a start: a change of
 * this waits for a restart, as that of every other setting does.
 */
const FOLLOWED: Readonly<Partial<Record<SettingName, (config: Config) => unknown>>> = {
  logLevel: () => true,
  encryptionKey: ({ encryptionKey }) => encryptionKey !== "",
  stripeSecretKey: ({ stripeSecretKey: key }) => (key === "" ? "off" : isLiveKey(key)),
  stripeWebhookSecret: ({ stripeWebhookSecret }) => stripeWebhookSecret !== "",
};

/** A running server does not read them: each command does, at its start. */
const OF_COMMANDS: ReadonlySet<SettingName> = new Set([
  "retentionAttemptsDays",
  "retentionChangesDays",
]);

/** Settings as they were read again. */
export interface ReadSettings {
  /**
   * The configuration that applies from now on: a setting that waits for a restart has the value of
   * the start.
   */
  readonly config: Config;
  /** Paths of the settings that have another value than the one in force, and follow now. */
  readonly changed: readonly string[];
  /** Paths of the settings that have another value than at the start, and wait for a restart. */
  readonly waiting: readonly string[];
}

/** The current settings: those of the start, except for the few that can change while it runs. */
export class SettingsInForce {
  #current: Config;
  #waiting: readonly string[] = [];

  constructor(config: Config) {
    this.#current = config;
  }

  get current(): Config {
    return this.#current;
  }

  /** Paths of what was changed since the start and waits for a restart. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  /** Says what of these would follow; nothing changes before `use`. */
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

/** Whether a key of the payment provider moves real money. */
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
