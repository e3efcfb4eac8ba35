import type { AccountStore } from "../../gateway/index.ts";
import type { MailAttachment, OrgId } from "../../kernel/index.ts";
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

/**
 * Makes the PDF for an alert's e-mail: the receipt of a purchase, or the statement of a month.
 * Resolves to undefined for any other event, or if the document does not exist.
 */
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
  stores: DocumentStores,
  { orgId, kind, facts }: AlertEvent,
  seller: () => Seller,
): Promise<Paper | undefined> {
  if (kind === "purchase.granted" || kind === "topup.charged") {
    return await receiptOf(stores, orgId, String(facts["purchase_id"]));
  }
  if (kind !== "statement.ready") return undefined;
  return await loadStatement(stores, { orgId, text: String(facts["month"]), seller });
}

async function receiptOf(
  { purchaseStore }: DocumentStores,
  orgId: OrgId,
  purchaseId: string,
): Promise<Paper | undefined> {
  const purchase = await purchaseStore.findOwn(orgId, purchaseId);
  return purchase !== undefined && isPaid(purchase) ? receiptPaper(purchase) : undefined;
}

async function loadStatement(
  { statementStore, companyStore, accountStore }: DocumentStores,
  of: { readonly orgId: OrgId; readonly text: string; readonly seller: () => Seller },
): Promise<Paper | undefined> {
  const { orgId, text, seller } = of;
  const month = parseMonth(text);
  const statement = month === undefined ? "unknown" : await statementStore.read(orgId, month);
  const org = await accountStore.findOrg(orgId);
  if (statement === "unknown" || statement === "later" || org === undefined) return undefined;
  const company = (await companyStore.find(orgId)) ?? null;
  return statementPaper(statement, seller(), { name: org.name, company });
}
