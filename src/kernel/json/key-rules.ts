import type { WordTable } from "./word-table.ts";

/** Keys that some parsers act on. They are refused at any depth, where the word table has them. */
export const FORBIDDEN_KEYS: readonly string[] = ["__proto__", "constructor", "prototype"];
/** The same for data whose keys are the customer's own names: states, arguments of tools. */
export const FREE_DATA_FORBIDDEN_KEYS: readonly string[] = ["__proto__"];

/** Which keys are refused where. */
export interface KeyRules {
  readonly forbidden: readonly string[];
  /** Places of free data: keys from the root on, `""` for any item of an array. */
  readonly freeData?: readonly (readonly string[])[];
}

export const defaultRules: KeyRules = { forbidden: FREE_DATA_FORBIDDEN_KEYS };

/** The rules as word ids. */
export interface RuleWords {
  readonly table: WordTable;
  readonly forbidden: readonly number[];
  readonly forbiddenInFreeData: readonly number[];
  readonly freeData: readonly (readonly number[])[];
}

/** In a path of ids: any item of an array. */
export const ARRAY_ITEM = -1;

const knownRules = new WeakMap<KeyRules, RuleWords>();

/* Rules are constants: looked up for each body they were nearly half of the reading of 1 KB. */
export function wordsOf(rules: KeyRules, table: WordTable): RuleWords {
  const known = knownRules.get(rules);
  if (known?.table === table) return known;
  const { forbidden, freeData = [] } = rules;
  const idOf = (name: string): number => table.idOf(name);
  const made = {
    table,
    forbidden: forbidden.map(idOf),
    forbiddenInFreeData: FREE_DATA_FORBIDDEN_KEYS.map(idOf),
    freeData: freeData.map((path) => path.map((key) => (key === "" ? ARRAY_ITEM : idOf(key)))),
  };
  knownRules.set(rules, made);
  return made;
}
