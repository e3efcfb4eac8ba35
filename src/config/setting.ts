/** One setting of the program: where it may be written, what it means, what it is without you. */
export interface Setting<T> {
  /** Path in `tokenmarket.yaml`; upper snake case after `TM_` it is the environment name. */
  readonly path: string;
  /** Environment names that are read besides the derived one. */
  readonly alsoEnv?: readonly string[];
  readonly kind: "string" | "integer" | "boolean" | "level";
  readonly fallback: T;
  readonly min?: number;
  readonly max?: number;
  readonly secret?: boolean;
  /** A running server follows it; every other one waits for a restart. */
  readonly live?: boolean;
  /** Only commands read it, each at its start: a server need not. */
  readonly ofCommands?: boolean;
  /** What is wrong with a value of the right kind; undefined: nothing. */
  problem?(value: T): string | undefined;
  readonly doc: string;
}

/** The environment name of a path: `timeouts.keepalive_ms` is `TM_TIMEOUTS_KEEPALIVE_MS`. */
export function environmentName(path: string): string {
  return `TM_${path.replaceAll(".", "_").toUpperCase()}`;
}

export function integer(path: string, fallback: number, min: number, doc: string): Setting<number> {
  return { path, kind: "integer", fallback, min, doc };
}

export function atMost(setting: Setting<number>, max: number): Setting<number> {
  return { ...setting, max };
}

export function text(path: string, fallback: string, doc: string): Setting<string> {
  return { path, kind: "string", fallback, doc };
}

export function flag(path: string, doc: string, fallback = false): Setting<boolean> {
  return { path, kind: "boolean", fallback, doc };
}

/** The settings of one subject. */
export type SettingRows<C> = { readonly [K in keyof C]: Setting<C[K]> };

/** A running server follows a changed value. */
export function live<T>(setting: Setting<T>): Setting<T> {
  return { ...setting, live: true };
}

/** The same for all settings of a subject. */
export function allLive<C extends object>(rows: SettingRows<C>): SettingRows<C> {
  const marked = Object.entries<Setting<unknown>>(rows).map(([name, row]) => [name, live(row)]);
  return Object.fromEntries(marked) as SettingRows<C>;
}

/** Only commands read it. */
export function ofCommands<T>(setting: Setting<T>): Setting<T> {
  return { ...setting, ofCommands: true };
}

/** The names of all settings of a subject. */
export function namesOf<C extends object>(rows: SettingRows<C>): readonly (keyof C)[] {
  return Object.keys(rows) as (keyof C)[];
}
