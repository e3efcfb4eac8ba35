import type { PurchaseStatus } from "../../../../src/account/console-api/contract.ts";

export interface PurchaseMessage {
  readonly label: string;
  readonly tone: "ok" | "warn" | "bad" | "quiet";
  readonly meaning: string;
  /** True if the status will not change again. Polling then ends. */
  readonly isDecided: boolean;
}

export function purchaseMessage(status: PurchaseStatus): PurchaseMessage {
  return WORDS[status];
}

const WORDS: Readonly<Record<PurchaseStatus, PurchaseMessage>> = {
  created: {
    label: "Not paid",
    tone: "quiet",
    meaning: "The payment provider has not confirmed a payment yet.",
    isDecided: false,
  },
  pending: {
    label: "Pending",
    tone: "warn",
    meaning: "The payment is in progress. Your bank has not confirmed it yet.",
    isDecided: false,
  },
  paid: {
    label: "Paid",
    tone: "ok",
    meaning: "Payment confirmed. The credit is in your balance.",
    isDecided: true,
  },
  partly_refunded: {
    label: "Partially refunded",
    tone: "warn",
    meaning: "Part of this payment was refunded and deducted from your balance.",
    isDecided: true,
  },
  refunded: {
    label: "Refunded",
    tone: "quiet",
    meaning: "This payment was refunded and deducted from your balance.",
    isDecided: true,
  },
  disputed: {
    label: "Disputed",
    tone: "bad",
    meaning:
      "This payment is disputed with your bank. Its credit is withheld until the dispute is resolved.",
    isDecided: true,
  },
  failed: {
    label: "Failed",
    tone: "bad",
    meaning: "The payment failed. Nothing was charged and no credit was added.",
    isDecided: true,
  },
  expired: {
    label: "Expired",
    tone: "quiet",
    meaning: "The payment page was closed before paying. Nothing was charged.",
    isDecided: true,
  },
  parked: {
    label: "Under review",
    tone: "warn",
    meaning: "A payment arrived that does not match the order. Support is reviewing it.",
    isDecided: true,
  },
};
