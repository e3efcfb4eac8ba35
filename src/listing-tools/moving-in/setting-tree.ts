import { type RawJson, RawNumber, type RawObject } from "../../kernel/index.ts";

/**
 * A configuration of another gateway as it was written: numbers keep their text, because a price
 * that was a float once is not exact, and keys are nothing but texts.
 */
export type Setting =
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, Setting> }
  | { readonly kind: "list"; readonly items: readonly Setting[] }
  | { readonly kind: "text"; readonly text: string }
  /** `text`: as written, such as `2e-07`. */
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "nothing" };

/** The place of a setting: names of keys, and positions in lists. */
export type SettingPath = readonly (string | number)[];

export type SettingMap = Extract<Setting, { kind: "map" }>;

const PLAIN_KEY = /^[\w*-]{1,64}$/;
const KEY_CHARS_MAX = 64;

/** A path as people write it: `model_list[2].litellm_params.rpm`. */
export function pathText(path: SettingPath): string {
  return path
    .map((step, at) => {
      if (typeof step === "number") return `[${step}]`;
      if (PLAIN_KEY.test(step)) return at === 0 ? step : `.${step}`;
      return `[${JSON.stringify(shortText(step, KEY_CHARS_MAX))}]`;
    })
    .join("");
}

/** A text of the file, safe on a terminal: bounded, on one line, without control characters. */
export function shortText(text: string, charsMax = 120): string {
  const safe = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, " ");
  return safe.length <= charsMax ? safe : `${safe.slice(0, charsMax - 1)}…`;
}

/** The value of a key; undefined where the map has none, or the setting is not a map. */
export function settingAt(setting: Setting | undefined, key: string): Setting | undefined {
  return setting?.kind === "map" ? setting.entries.get(key) : undefined;
}

/** The text of a setting that is a text of at least one character. */
export function textAt(setting: Setting | undefined, key: string): string | undefined {
  const found = settingAt(setting, key);
  return found?.kind === "text" && found.text !== "" ? found.text : undefined;
}

/** A number as written, also where it is in quotes. */
export function numberAt(setting: Setting | undefined, key: string): string | undefined {
  const found = settingAt(setting, key);
  if (found?.kind === "number") return found.text;
  return found?.kind === "text" && WRITTEN_NUMBER.test(found.text) ? found.text : undefined;
}

const WRITTEN_NUMBER = /^[+-]?\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,4})?$/;

/** True if the setting is empty or missing. */
export function isEmpty(setting: Setting): boolean {
  if (setting.kind === "map") return setting.entries.size === 0;
  if (setting.kind === "list") return setting.items.length === 0;
  return setting.kind === "nothing" || (setting.kind === "text" && setting.text === "");
}

/** A JSON document that was read within bounds, as settings. */
export function rawSetting(value: RawJson): Setting {
  if (value === null) return { kind: "nothing" };
  if (typeof value === "string") return { kind: "text", text: value };
  if (typeof value === "boolean") return { kind: "boolean", value };
  if (value instanceof RawNumber) return { kind: "number", text: value.raw };
  if (Array.isArray(value)) {
    return { kind: "list", items: (value as readonly RawJson[]).map(rawSetting) };
  }
  const entries = [...(value as RawObject)].map(([key, each]) => [key, rawSetting(each)] as const);
  return { kind: "map", entries: new Map(entries) };
}
