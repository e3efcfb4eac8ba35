import { asText, type RawJson, RawNumber, type RawObject } from "../../kernel/index.ts";

export type SettingPath = readonly (string | number)[];

const PLAIN_KEY = /^[\w*-]{1,64}$/;
const KEY_CHARS_MAX = 64;

/** Formats a path, such as `model_list[2].litellm_params.rpm`. */
export function pathText(path: SettingPath): string {
  return path
    .map((step, at) => {
      if (typeof step === "number") return `[${step}]`;
      if (PLAIN_KEY.test(step)) return at === 0 ? step : `.${step}`;
      return `[${JSON.stringify(shortText(step, KEY_CHARS_MAX))}]`;
    })
    .join("");
}

/** Makes a text of the file safe for a terminal: short, on one line, without control characters. */
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

export function settingAt(setting: RawJson | undefined, key: string): RawJson | undefined {
  return asMap(setting)?.get(key);
}

export function textAt(setting: RawJson | undefined, key: string): string | undefined {
  return asText(settingAt(setting, key)) || undefined;
}

/** A number in the digits of the file, with or without quotes; undefined for any other value. */
export function numberAt(setting: RawJson | undefined, key: string): string | undefined {
  const found = settingAt(setting, key);
  if (found instanceof RawNumber) return found.raw;
  const text = asText(found);
  return text !== undefined && WRITTEN_NUMBER.test(text) ? text : undefined;
}

const WRITTEN_NUMBER = /^[+-]?\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,4})?$/;

export function isEmpty(setting: RawJson): boolean {
  if (setting === null || setting === "") return true;
  return (asMap(setting)?.size ?? asList(setting)?.length) === 0;
}
