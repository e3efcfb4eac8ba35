import { expect, test } from "vitest";

import type { Receipt } from "../../../../src/account/console-api/contract.ts";
import { receiptLines } from "./receipt-lines.ts";

const receipt: Receipt = {
  number: "pur_1",
  paid_at: "2026-11-22T01:57:09.000Z",
  amount_usd: "1250.500000",
  refunded_usd: "0.000000",
  disputed_usd: "0.000000",
  payment_reference: "pi_1",
  is_test_money: false,
  is_automatic: false,
  company: null,
  issuer: { name: null, address_lines: [], tax_id: null, note: null, url: "https://c.example.com" },
};

test("a receipt says number, date, amount and reference", () => {
  expect(receiptLines(receipt).map(({ label, text }) => `${label}: ${text}`)).toEqual([
    "Receipt number: pur_1",
    "Date paid: 22 Nov 2026, 01:57 UTC",
    "Description: Prepaid credit",
    "Amount: $1,250.50 USD",
    "Payment reference: pi_1",
  ]);
});

test("what went back since is on it, and so is an automatic top-up", () => {
  const later = { refunded_usd: "10.000000", disputed_usd: "0.500001", is_automatic: true };
  const lines = receiptLines({ ...receipt, ...later, payment_reference: null });
  expect(lines.map(({ text }) => text).slice(2)).toEqual([
    "Prepaid credit, automatic top-up",
    "$1,250.50 USD",
    "$10.00 USD",
    "$0.500001 USD",
    "None recorded",
  ]);
});
