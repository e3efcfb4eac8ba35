import type { OperatorContract } from "../../api/contract.ts";

export interface ContractForm {
  readonly scope: OperatorContract["scope"];
  /** ID of the key or model. With the scope `key`, an empty text means every key. */
  readonly target: string;
  readonly rpm: string;
  readonly tpm: string;
  readonly concurrency: string;
}

type Problems = Readonly<Partial<Record<keyof ContractForm, string>>>;

const LIMIT_MAX = 1_000_000_000;
const NAMES = ["rpm", "tpm", "concurrency"] as const;

/** Reads the form. A blank field keeps the current limit, and the text `default` removes it. */
export function readContractForm(
  typed: ContractForm,
):
  | { readonly isReady: true; readonly body: OperatorContract }
  | { readonly isReady: false; readonly problems: Problems } {
  const problems: Partial<Record<keyof ContractForm, string>> = {};
  const values: Partial<Record<(typeof NAMES)[number], number | null>> = {};
  const target = typed.target.trim();
  if (typed.scope === "model" && target === "") problems.target = "Write the ID of a model.";
  for (const name of NAMES) {
    const text = typed[name].trim().toLowerCase();
    if (text === "") continue;
    const value = text === "default" ? null : Number(text);
    if (value === null || isLimit(text, value)) values[name] = value;
    else problems[name] = "Enter a whole number above 0, or “default”.";
  }
  const isEmpty = NAMES.every((name) => typed[name].trim() === "");
  if (isEmpty) problems.rpm = NO_LIMIT;
  if (Object.keys(problems).length > 0) return { isReady: false, problems };
  const of = typed.scope === "model" ? { model: target } : { key_id: target };
  const isNamed = typed.scope !== "org" && target !== "";
  return { isReady: true, body: { scope: typed.scope, ...(isNamed ? of : {}), ...values } };
}

const NO_LIMIT = "Set at least one of the three limits.";

/** Returns the problems that remain after a change. A target is wrong only for its scope. */
export function stillWrong(problems: Problems, changed: Partial<ContractForm>): Problems {
  const isSet = NAMES.some((name) => changed[name] !== undefined);
  const solved = Object.keys(changed.scope === undefined ? changed : { ...changed, target: "" });
  return Object.fromEntries(
    Object.entries(problems).filter(
      ([name, problem]) => !solved.includes(name) && !(isSet && problem === NO_LIMIT),
    ),
  );
}

function isLimit(text: string, value: number): boolean {
  return /^[0-9]+$/.test(text) && value >= 1 && value <= LIMIT_MAX;
}
