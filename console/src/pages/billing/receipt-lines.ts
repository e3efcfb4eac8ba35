import type { Receipt } from "../../../../src/account/console-api/contract.ts";
import { compareUsd, showUsd } from "../../ui/money-math.ts";
import { showUtc } from "../../ui/time.tsx";

export interface ReceiptLine {
  readonly label: string;
  readonly text: string;
}

/** The lines of a receipt about the payment, with exact amounts. */
export function receiptLines(receipt: Receipt): readonly ReceiptLine[] {
  const { refunded_usd: refunded, disputed_usd: disputed, payment_reference: reference } = receipt;
  return [
    { label: "Receipt number", text: receipt.number },
    { label: "Date paid", text: showUtc(receipt.paid_at) },
    {
      label: "Description",
      text: receipt.is_automatic ? "Prepaid credit, automatic top-up" : "Prepaid credit",
    },
    { label: "Amount", text: dollars(receipt.amount_usd) },
    ...(isSome(refunded) ? [{ label: "Refunded since", text: dollars(refunded) }] : []),
    ...(isSome(disputed) ? [{ label: "Disputed since", text: dollars(disputed) }] : []),
    { label: "Payment reference", text: reference ?? "None recorded" },
  ];
}

function isSome(usd: string): boolean {
  return compareUsd(usd, "0") > 0;
}

function dollars(usd: string): string {
  return `${showUsd(usd.replace(/0{4}$/, ""))} USD`;
}
