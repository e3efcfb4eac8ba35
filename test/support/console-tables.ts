import type { Page } from "playwright-core";

import { microUsd, parseUsd, type MicroUsd } from "../../src/kernel/core/money.ts";

export type ShownTable = Awaited<ReturnType<typeof readTable>>;

export async function readTable(page: Page, name: string) {
  const table = page.getByRole("table", { name, exact: true });
  await table.waitFor();
  const cells = async (part: string): Promise<readonly (readonly string[])[]> => {
    const lines = await table.locator(`${part} tr`).allInnerTexts();
    return lines.map((line) => line.split("\t").map((cell) => cell.trim()));
  };
  const [head = []] = await cells("thead");
  const rows = await cells("tbody");
  const [foot] = await cells("tfoot");
  const placeOf = (label: string): number => {
    const place = head.indexOf(label);
    if (place < 0) throw new Error(`no column ${label} among ${head.join(", ")}`);
    return place;
  };
  return {
    rows,
    column: (label: string) => rows.map((row) => row[placeOf(label)] ?? ""),
    /** The cell of a column in the line of totals; undefined if there is no such line. */
    total: (label: string) => foot?.[placeOf(label)],
  };
}

/** Parses an amount as a page writes it, such as `"−$1,234.500000"` or `"+$3.000000"`. */
export function readMoney(shown: string): MicroUsd {
  const digits = shown.replaceAll(",", "").replace("−", "-").replace("+", "").replace("$", "");
  const isNegative = digits.startsWith("-");
  const amount = parseUsd(digits.replace("-", ""));
  if (amount === undefined) throw new Error(`not an amount of money: ${shown}`);
  return microUsd(isNegative ? 0n - amount : amount);
}

export function sumOfMoney(shown: readonly string[]): bigint {
  return shown.reduce((sum, each) => sum + readMoney(each), 0n);
}

export function sumOfCounts(shown: readonly string[]): number {
  return shown.reduce((sum, each) => sum + Number(each.replaceAll(",", "")), 0);
}

/** Returns the lines of a CSV file by the names of its columns. No cell may need quotes. */
export function readCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const [head = "", ...lines] = text.split("\r\n");
  if (lines.pop() !== "") throw new Error("the file does not end with its last line");
  const names = head.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ""]));
  });
}
