import { asText, type RawJson, RawNumber, type RawObject } from "../../kernel/index.ts";

/** The place of a setting: names of keys, and positions in lists. */
export type SettingPath = readonly (string | number)[];

const PLAIN_KEY = /^[\w*-]{1,64}$/;
const KEY_CHARS_MAX = 64;

/** A path as a text, such as `model_list[2].litellm_params.rpm`. */
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

export function asMap(setting: RawJson | undefined): RawObject | undefined {
  return setting instanceof Map ? (setting as RawObject) : undefined;
}

export function asList(setting: RawJson | undefined): readonly RawJson[] | undefined {
  return Array.isArray(setting) ? (setting as readonly RawJson[]) : undefined;
}

/** The value of a key; undefined if it is missing or the setting is not a map. */
export function settingAt(setting: RawJson | undefined, key: string): RawJson | undefined {
  return asMap(setting)?.get(key);
}

/** The text of a setting that is a text of at least one character. */
export function textAt(setting: RawJson | undefined, key: string): string | undefined {
  return asText(settingAt(setting, key)) || undefined;
}

/** A number as written, with or without quotes. */
export function numberAt(setting: RawJson | undefined, key: string): string | undefined {
  const found = settingAt(setting, key);
  if (found instanceof RawNumber) return found.raw;
  const text = asText(found);
  return text !== undefined && WRITTEN_NUMBER.test(text) ? text : undefined;
}

const WRITTEN_NUMBER = /^[+-]?\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,4})?$/;

/** True if the setting is empty or missing. */
export function isEmpty(setting: RawJson): boolean {
  if (setting === null || setting === "") return true;
  return (asMap(setting)?.size ?? asList(setting)?.length) === 0;
}
