import { expect, test } from "vitest";

import type { Receipt } from "../../../../src/account/console-api/contract.ts";
import { receiptLines } from "./receipt-lines.ts";

const receipt: Receipt = {
  number: "R-000012",
  purchase_id: "pur_1",
  paid_at: "2026-11-22T01:57:09.000Z",
  description: "Prepaid API credit",
  net_usd: "1250.500000",
  tax_usd: "0.000000",
  no_tax_reason: "No tax.",
  amount_usd: "1250.500000",
  refunded_usd: "0.000000",
  disputed_usd: "0.000000",
  payment_reference: "pi_1",
  payment_method: "Visa 4242",
  provider_url: null,
  is_test_money: false,
  is_automatic: false,
  buyer: "Acme",
  company: null,
  issuer: { name: null, address_lines: [], tax_id: null, note: null, url: "https://c.example.com" },
};

test("a receipt has quantity, net, tax, total, and later refunds and disputes", () => {
  const later = { refunded_usd: "10.000000", disputed_usd: "0.500001" };
  const lines = receiptLines({ ...receipt, ...later });
  expect(lines.map(({ label, quantity = "-", text }) => `${label} ${quantity} ${text}`)).toEqual([
    "Prepaid API credit 1 $1,250.50",
    "Net - $1,250.50",
    "Tax - $0.00",
    "Total in US dollars - $1,250.50",
    "Refunded since - $10.00",
    "Disputed since - $0.500001",
  ]);
});
