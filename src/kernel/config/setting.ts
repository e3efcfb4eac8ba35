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
  /** The problem of a value of the right kind; undefined: none. */
  problem?(value: T): string | undefined;
  readonly doc: string;
}

/** The environment name of a path: `timeouts.keepalive_ms` is `TM_TIMEOUTS_KEEPALIVE_MS`. */
export function environmentName(path: string): string {
  return `TM_${path.replaceAll(".", "_").toUpperCase()}`;
}

/** What a setting may have besides its path, its default and its meaning. */
type More<T> = Partial<Omit<Setting<T>, "path" | "fallback" | "doc">>;

export function integer(path: string, fallback: number, min: number, doc: string): Setting<number> {
  return { path, kind: "integer", fallback, min, doc };
}

export function atMost(setting: Setting<number>, max: number): Setting<number> {
  return { ...setting, max };
}

export function text(
  path: string,
  fallback: string,
  doc: string,
  more: More<string> = {},
): Setting<string> {
  return { path, kind: "string", fallback, doc, ...more };
}

export function flag(path: string, doc: string, fallback = false): Setting<boolean> {
  return { path, kind: "boolean", fallback, doc };
}

/** The values of a table of settings. */
export type ConfigOf<R> = { readonly [K in keyof R]: R[K] extends Setting<infer T> ? T : never };
