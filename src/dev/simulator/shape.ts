import { Type } from "typebox";

import { conforms, textOf } from "../../kernel/index.ts";
import { isAbsent, isObject, wordSet } from "./json.ts";

/** A sentence that says what is wrong with a value; undefined if it is valid. */
export type Complaint = string | undefined;

/** Checks a value. `path` is the value's place in the body, which the complaint names. */
export type Rule = (value: unknown, path: string) => Complaint;

export const anything: Rule = () => undefined;
export const text: Rule = be("a valid string", conforms(Type.String()));
export const filledText: Rule = be("a string that is not empty", (value) => textOf(value) !== "");
export const flag: Rule = be("a valid boolean", conforms(Type.Boolean()));
export const dictionary: Rule = be("a valid dictionary", isObject);

export function be(expected: string, isGood: (value: unknown) => boolean): Rule {
  return (value, path) => (isGood(value) ? undefined : `${path}: Input should be ${expected}`);
}

export function decimal(min: number, max: number): Rule {
  const isWithin = conforms(Type.Number({ minimum: min, maximum: max }));
  return be(`a number from ${min} to ${max}`, isWithin);
}

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): Rule {
  const isWithin = conforms(Type.Integer({ minimum: min, maximum: max }));
  return be(`an integer from ${min} to ${max}`, isWithin);
}

export function oneOf(words: string): Rule {
  const known = wordSet(words);
  return be(`one of ${words}`, (value) => known.has(textOf(value)));
}

export function matching(pattern: RegExp): Rule {
  return be(`a string that matches ${pattern.source}`, (value) => pattern.test(textOf(value)));
}

export function listOf(item: Rule, min: number = 0, max: number = 100_000): Rule {
  return (value, path) => {
    if (!Array.isArray(value)) return `${path}: Input should be a valid list`;
    if (value.length < min || value.length > max) {
      return `${path}: Input should be a list of ${min} to ${max}, not of ${value.length}`;
    }
    return findComplaint(value.map((each: unknown, index) => item(each, `${path}.${index}`)));
  };
}

/** An object with `min` to `max` fields of any name, each of which must follow `item`. */
export function mapOf(item: Rule, min: number = 0, max: number = 100_000): Rule {
  return (value, path) => {
    if (!isObject(value)) return dictionary(value, path);
    const entries = Object.entries(value);
    if (entries.length < min || entries.length > max) {
      return `${path}: Input should have ${min} to ${max} fields, not ${entries.length}`;
    }
    return findComplaint(entries.map(([name, each]) => item(each, `${path}.${name}`)));
  };
}

export function textOr(other: Rule): Rule {
  return (value, path) => text(value, path) && other(value, path);
}

/** Rules for several fields that accept any value: `any("a b")` is for the fields `a` and `b`. */
export function any(names: string): Readonly<Record<string, Rule>> {
  return Object.fromEntries([...wordSet(names)].map((name) => [name, anything]));
}

const refuseField: Rule = (_value, path) => `${path}: Extra inputs are not permitted`;

/** A name that ends with `!` is required; null counts as absent; `extra` checks other fields. */
export function fields(rules: Readonly<Record<string, Rule>>, extra: Rule = refuseField): Rule {
  const named = Object.entries(rules).map(([name, rule]) => {
    return { name: name.replace(/!$/, ""), rule, isRequired: name.endsWith("!") };
  });
  const known = new Set(named.map(({ name }) => name));
  return (value, path) => {
    if (!isObject(value)) return dictionary(value, path);
    const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
    const others = Object.keys(value).filter((name) => !known.has(name) && !isAbsent(value[name]));
    return (
      findComplaint(others.map((name) => extra(value[name], at(name)))) ??
      findComplaint(
        named.map(({ name, rule, isRequired }) => {
          if (!isAbsent(value[name])) return rule(value[name], at(name));
          return isRequired ? `${at(name)}: Field required` : undefined;
        }),
      )
    );
  };
}

/** Accepts an object whose field `key` names the rule that the object must follow. */
export function tagged(key: string, rules: Readonly<Record<string, Rule>>): Rule {
  return (value, path) => {
    if (!isObject(value)) return dictionary(value, path);
    const tag = textOf(value[key]);
    const rule = Object.hasOwn(rules, tag) ? rules[tag] : undefined;
    const expected = Object.keys(rules).join(", ");
    return rule === undefined
      ? `${path}.${key}: Input tag '${tag}' does not match any of the expected tags: ${expected}`
      : rule(value, path);
  };
}

export function findComplaint(complaints: readonly Complaint[]): Complaint {
  return complaints.find((complaint) => complaint !== undefined);
}
