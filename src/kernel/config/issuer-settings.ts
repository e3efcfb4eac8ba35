import { type ConfigOf, type Setting, text } from "./setting.ts";

const CHARACTERS_MAX = 400;

export const ISSUER_SETTINGS = {
  issuerName: bounded(
    "billing.issuer.name",
    "Legal name of your company on statements and receipts. Empty: only the name of the installation.",
  ),
  issuerAddress: bounded(
    "billing.issuer.address",
    "Its address, with ` | ` between the lines: `1 Main St | 12345 Springfield | US`.",
  ),
  issuerTaxId: bounded("billing.issuer.tax_id", "Its tax id, as statements and receipts show it."),
  issuerNote: bounded(
    "billing.issuer.note",
    "A line under your company on every statement and receipt, such as a register number.",
  ),
  issuerNoTaxReason: {
    ...bounded("billing.issuer.no_tax_reason", "Why receipts charge no tax, as they say it."),
    fallback: "Tax is not charged when prepaid credit is sold.",
  },
};

/** The operator's company, as statements and receipts show it. */
export type IssuerConfig = ConfigOf<typeof ISSUER_SETTINGS>;

function bounded(path: string, doc: string): Setting<string> {
  return { ...text(path, "", doc), problem: lineProblem };
}

function lineProblem(value: string): string | undefined {
  if (value.length > CHARACTERS_MAX) return `must be at most ${CHARACTERS_MAX} characters`;
  return /\p{Cc}/u.test(value) ? "must be one line without control characters" : undefined;
}

/** The people who may open the operator pages of the console. */
export const OPERATOR_SETTINGS = {
  operators: text(
    "operators",
    "",
    "E-mail addresses, separated by commas, of the accounts that may open `/operator` in the console. The " +
      "address must be verified by the identity provider. Checked on every request. Empty: no account.",
    { problem: addressesProblem },
  ),
};

/** The addresses of a list as it is written in the setting. */
export function splitAddresses(list: string): readonly string[] {
  return list
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function addressesProblem(value: string): string | undefined {
  const wrong = splitAddresses(value).find((each) => !/^[^@\s]+@[^@\s]+$/.test(each));
  if (wrong === undefined) return undefined;
  return `must be e-mail addresses, separated by commas; "${wrong}" is none`;
}
