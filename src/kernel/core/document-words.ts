/** `November 2026` of `2026-11`. */
export function monthName(month: string): string {
  const at = new Date(`${month}-01T00:00:00Z`);
  return at.toLocaleDateString("en-US", { month: "long", year: "numeric", timeZone: "UTC" });
}

/** The facts of a payment, but for its amounts, as the page and the PDF file of a receipt have them. */
export function receiptFacts(of: {
  readonly number: string;
  /** As the document shows days. */
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
