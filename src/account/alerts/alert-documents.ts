import type { AccountStore } from "../../gateway/index.ts";
import type { MailAttachment } from "../../kernel/index.ts";
import type { CompanyStore, Seller } from "../billing/company.ts";
import { isPaid, receiptPaper, statementPaper } from "../billing/documents.ts";
import type { Paper } from "../billing/paper.ts";
import { printPaper } from "../billing/print-paper.ts";
import type { PurchaseStore } from "../billing/postgres-purchase-store.ts";
import type { StatementStore } from "../billing/postgres-statement-store.ts";
import { parseMonth } from "../billing/statements.ts";
import type { AlertEvent } from "./alert-kinds.ts";

interface DocumentStores {
  readonly purchaseStore: Pick<PurchaseStore, "findOwn">;
  readonly statementStore: Pick<StatementStore, "read">;
  readonly companyStore: Pick<CompanyStore, "find">;
  readonly accountStore: Pick<AccountStore, "findOrg">;
}

/** The returned function makes the PDF of an alert e-mail, or undefined if there is no document. */
export function openAlertDocuments(
  stores: DocumentStores,
  seller: () => Seller,
): (event: AlertEvent) => Promise<MailAttachment | undefined> {
  return async (event) => {
    const paper = await loadPaper(stores, event, seller);
    if (paper === undefined) return undefined;
    const filename = `${paper.title.toLowerCase().replaceAll(" ", "-")}.pdf`;
    return { filename, contentType: "application/pdf", content: await printPaper(paper) };
  };
}

async function loadPaper(
  { purchaseStore, statementStore, companyStore, accountStore }: DocumentStores,
  { orgId, kind, facts }: AlertEvent,
  seller: () => Seller,
): Promise<Paper | undefined> {
  if (kind === "purchase.granted" || kind === "topup.charged") {
    const purchase = await purchaseStore.findOwn(orgId, String(facts["purchase_id"]));
    return purchase !== undefined && isPaid(purchase) ? receiptPaper(purchase) : undefined;
  }
  if (kind !== "statement.ready") return undefined;
  const month = parseMonth(String(facts["month"]));
  const statement = month === undefined ? "unknown" : await statementStore.read(orgId, month);
  const org = await accountStore.findOrg(orgId);
  if (statement === "unknown" || statement === "later" || org === undefined) return undefined;
  const company = (await companyStore.find(orgId)) ?? null;
  return statementPaper(statement, seller(), { name: org.name, company });
}
