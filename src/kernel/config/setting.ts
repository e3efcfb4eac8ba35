export interface Setting<T> {
  /** Path in `tokenmarket.yaml`; `environmentName` derives the environment variable from it. */
  readonly path: string;
  /** Other environment variables, read in this order if the derived one is unset or empty. */
  readonly alsoEnv?: readonly string[];
  /** `base` is a base URL, which is read without slashes at its end. */
  readonly kind: "string" | "base" | "integer" | "boolean" | "level";
  readonly fallback: T;
  readonly min?: number;
  readonly max?: number;
  readonly secret?: boolean;
  /** Returns what is wrong with a value whose kind is right; undefined if it is valid. */
  problem?(value: T): string | undefined;
  readonly doc: string;
}

/** Turns `timeouts.keepalive_ms` into `TM_TIMEOUTS_KEEPALIVE_MS`. */
export function environmentName(path: string): string {
  return `TM_${path.replaceAll(".", "_").toUpperCase()}`;
}

type More<T> = Pick<Setting<T>, "doc"> & Partial<Omit<Setting<T>, "path" | "fallback">>;

/** Ten days. A timer of more than 24.8 days would fire at once; some wait for two settings. */
export const SETTING_MS_MAX = 864_000_000;

/**
 * A whole number of at least 1, and of at most `SETTING_MS_MAX` if `path` says milliseconds, unless
 * `more` says otherwise.
 */
export function integer(path: string, fallback: number, more: More<number>): Setting<number> {
  const most = path.endsWith("_ms") ? { max: SETTING_MS_MAX } : {};
  return { path, kind: "integer", fallback, min: 1, ...most, ...more };
}

export function text(path: string, fallback: string, more: More<string>): Setting<string> {
  return { path, kind: "string", fallback, ...more };
}

export function flag(
  path: string,
  { doc, fallback = false }: { readonly doc: string; readonly fallback?: boolean },
): Setting<boolean> {
  return { path, kind: "boolean", fallback, doc };
}

export type ConfigOf<R> = { readonly [K in keyof R]: R[K] extends Setting<infer T> ? T : never };
