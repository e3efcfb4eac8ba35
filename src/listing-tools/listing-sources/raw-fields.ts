import {
  decimalSize,
  isDay,
  parseDecimal,
  plainDecimal,
  type RawJson,
  RawNumber,
  type RawObject,
} from "../../kernel/index.ts";

/** Readers of fields of a source; what has another type than expected counts as not there. */

export function objectOf(value: RawJson | undefined): RawObject | undefined {
  return value instanceof Map ? (value as RawObject) : undefined;
}

export function objectAt(object: RawObject, key: string): RawObject | undefined {
  return objectOf(object.get(key));
}

export function listAt(object: RawObject, key: string): readonly RawJson[] {
  const value = object.get(key);
  return Array.isArray(value) ? (value as readonly RawJson[]) : [];
}

export function textAt(object: RawObject, key: string): string | undefined {
  const value = object.get(key);
  return typeof value === "string" ? value : undefined;
}

export function textsAt(object: RawObject, key: string): string[] {
  return listAt(object, key).filter((each) => typeof each === "string");
}

export function flagAt(object: RawObject, key: string): boolean | undefined {
  const value = object.get(key);
  return typeof value === "boolean" ? value : undefined;
}

/** The number as it is written: a number, or a text that is one. */
export function numberTextAt(object: RawObject, key: string): string | undefined {
  return numberTextOf(object.get(key));
}

export function numberTextOf(value: RawJson | undefined): string | undefined {
  if (value instanceof RawNumber) return value.raw;
  return typeof value === "string" && parseDecimal(value) !== undefined ? value : undefined;
}

/** A whole number above 0 ("32000.0" too) that every reader of JSON carries exactly. */
export function countAt(object: RawObject, key: string): number | undefined {
  return countOf(object.get(key));
}

export function countOf(value: RawJson | undefined): number | undefined {
  const raw = numberTextOf(value);
  const decimal = raw === undefined ? undefined : parseDecimal(raw);
  if (decimal === undefined || decimal.negative || decimal.digits === "") return undefined;
  const { whole, fraction } = decimalSize(decimal);
  return fraction > 0 || whole > 15 ? undefined : Number(plainDecimal(decimal, 0));
}

/** A calendar day; "2026-05" is its first. */
export function dayAt(object: RawObject, key: string): string | undefined {
  const text = textAt(object, key);
  const day = text !== undefined && /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text;
  return day !== undefined && isDay(day) ? day : undefined;
}

/** True for 0 and for a price that is not there. */
export function isNothing(raw: string | undefined): boolean {
  return raw === undefined || parseDecimal(raw)?.digits === "";
}
