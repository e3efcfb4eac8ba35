export type { BillingOptions } from "./billing-mode.ts";
export { type Billing, PurchaseFault, type PurchaseRecord } from "./billing.ts";
export { notingPurchases, notingWebhooks } from "./counted-billing.ts";
export { followBilling } from "./follow-billing.ts";
export { openBilling } from "./open-billing.ts";
export { PostgresPurchaseStore } from "./postgres-purchase-store.ts";
export type { RecoveredPayments } from "./recover-payments.ts";
export type { PurchaseStore, WaitingPurchase } from "./purchase-store.ts";
