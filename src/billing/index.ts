export type { BillingOptions } from "./billing-mode.ts";
export { type Billing, PurchaseFault, type PurchaseRecord } from "./billing.ts";
export { notingPurchases, notingWebhooks } from "./counted-billing.ts";
export { type Company, type CompanyStore, isTaxIdOf } from "./company.ts";
export { followBilling } from "./follow-billing.ts";
export { openBilling } from "./open-billing.ts";
export { PostgresTopUpStore } from "./postgres-top-up-store.ts";
export { PostgresCompanyStore } from "./postgres-company-store.ts";
export { PostgresPurchaseStore } from "./postgres-purchase-store.ts";
export { PostgresStatementClosing } from "./postgres-statement-closing.ts";
export { PostgresStatementStore } from "./postgres-statement-store.ts";
export type { RecoveredPayments } from "./recover-payments.ts";
export { startStatementClosing, type StatementClosing } from "./statement-closing.ts";
export { statementCsv } from "./statement-csv.ts";
export {
  differencesOf,
  hashOfDocument,
  statementDocument,
  statementNumber,
} from "./statement-document.ts";
export {
  type CreditKind,
  type CreditLine,
  type CreditSum,
  type Month,
  monthAfter,
  monthOf,
  parseMonth,
  spanOfMonth,
  type Statement,
  type StatementDocument,
  type StatementFigures,
  type StatementState,
  type StatementStore,
  type StatementSummary,
  type UsageFigures,
} from "./statements.ts";
export type { PurchaseStore, WaitingPurchase } from "./purchase-store.ts";
export type { TopUpPause, TopUpStore } from "./top-up-store.ts";
export { monthStartMs } from "./top-up-times.ts";
export { TopUpFault, type TopUpView } from "./top-ups.ts";
