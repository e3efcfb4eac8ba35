import type { Receipt } from "../../api/contract.ts";
import { receiptFacts } from "../../../../src/kernel/core/document-words.ts";
import { compareUsd, showUsd } from "../../ui/money-math.ts";
import { showUtc } from "../../ui/time.tsx";

export function paymentFacts(receipt: Receipt): ReturnType<typeof receiptFacts> {
  return receiptFacts({
    number: receipt.number,
    paid: showUtc(receipt.paid_at),
    method: receipt.payment_method,
    reference: receipt.payment_reference,
    purchaseId: receipt.purchase_id,
  });
}

export interface Line {
  readonly label: string;
  readonly quantity?: string;
  readonly text: string;
}

export function receiptLines(receipt: Receipt): readonly Line[] {
  const { refunded_usd: refunded, disputed_usd: disputed } = receipt;
  return [
    { label: receipt.description, quantity: "1", text: dollars(receipt.net_usd) },
    { label: "Net", text: dollars(receipt.net_usd) },
    { label: "Tax", text: dollars(receipt.tax_usd) },
    { label: "Total in US dollars", text: dollars(receipt.amount_usd) },
    ...(isSome(refunded) ? [{ label: "Refunded since", text: dollars(refunded) }] : []),
    ...(isSome(disputed) ? [{ label: "Disputed since", text: dollars(disputed) }] : []),
  ];
}

function isSome(usd: string): boolean {
  return compareUsd(usd, "0") > 0;
}

function dollars(usd: string): string {
  return showUsd(usd.replace(/0{4}$/, ""));
}
