import { type Setting } from "./setting.ts";

/** Who may open the operator pages of the console. */
export interface OperatorConfig {
  readonly operators: string;
}

export const OPERATOR_SETTINGS: {
  readonly [K in keyof OperatorConfig]: Setting<OperatorConfig[K]>;
} = {
  operators: {
    path: "operators",
    kind: "string",
    fallback: "",
    problem: addressesProblem,
    doc:
      "E-mail addresses, separated by commas, of the accounts that may open `/operator` in the console. The " +
      "address must be verified by the identity provider. Checked on every request. Empty: no account.",
  },
};

/** The addresses of a list as it is written in the setting. */
export function addressesOf(list: string): readonly string[] {
  return list
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function addressesProblem(value: string): string | undefined {
  const wrong = addressesOf(value).find((each) => !/^[^@\s]+@[^@\s]+$/.test(each));
  if (wrong === undefined) return undefined;
  return `must be e-mail addresses, separated by commas; "${wrong}" is none`;
}
