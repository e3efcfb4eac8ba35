/** Turns `2026-11` into `November 2026`. */
export function monthName(month: string): string {
  const at = new Date(`${month}-01T00:00:00Z`);
  return at.toLocaleDateString("en-US", { month: "long", year: "numeric", timeZone: "UTC" });
}

/** Returns the rows of a receipt, without amounts, for both the receipt's page and its PDF file. */
export function receiptFacts(of: {
  readonly number: string;
  readonly paid: string;
  readonly method: string | null;
  readonly reference: string | null;
  readonly purchaseId: string;
}): readonly (readonly [label: string, text: string])[] {
  return [
    ["Receipt number", of.number],
    ["Date paid", of.paid],
    ["Payment method", of.method ?? "Not reported by the payment provider"],
    ["Payment reference", of.reference ?? "None recorded"],
    ["Purchase", of.purchaseId],
  ];
}
