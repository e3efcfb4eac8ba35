import { SETTINGS, type Config, type SettingName } from "./settings.ts";

/**
 * Settings that take effect without a restart. Each function returns a decision made at the start,
 * such as whether encryption is on: a value that would change the decision waits for a restart.
 */
const FOLLOWED: Readonly<Partial<Record<SettingName, (config: Config) => unknown>>> = {
  logLevel: () => true,
  encryptionKey: ({ encryptionKey }) => encryptionKey !== "",
  stripeSecretKey: ({ stripeSecretKey: key }) => (key === "" ? "off" : isLiveKey(key)),
  stripeWebhookSecret: ({ stripeWebhookSecret }) => stripeWebhookSecret !== "",
};

/** Settings that only commands read, at each start: a change never waits for a restart. */
const OF_COMMANDS: ReadonlySet<SettingName> = new Set([
  "retentionAttemptsDays",
  "retentionChangesDays",
]);

export interface ReadSettings {
  /** The settings in force after `use`. Settings that need a restart keep their old value. */
  readonly config: Config;
  /** Paths of settings that take effect now. */
  readonly changed: readonly string[];
  /** Paths of settings that wait for a restart. */
  readonly waiting: readonly string[];
}

/** The settings of a running server: those of its start, except for the few in `FOLLOWED`. */
export class SettingsInForce {
  #current: Config;
  #waiting: readonly string[] = [];

  constructor(config: Config) {
    this.#current = config;
  }

  get current(): Config {
    return this.#current;
  }

  get waiting(): readonly string[] {
    return this.#waiting;
  }

  /** Compares `next` with the settings in force. Changes nothing: `use` applies the result. */
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

/** True if a Stripe key moves real money. */
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
