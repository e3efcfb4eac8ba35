import { type Company, isTaxId, type Seller, sellerOf } from "../billing/company.ts";
import { statementPaper } from "../billing/documents.ts";
import {
  parseMonth,
  type Statement as StoredStatement,
  statementCsv,
} from "../billing/statements.ts";
import { type OrgId, visibleText } from "../../kernel/index.ts";
import type { OperationDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField, notFound } from "./console-refusal.ts";
import {
  CompanyData,
  type CompanyPage,
  type Issuer,
  Statement,
  type statementRoutes,
  StatementSummary,
} from "./contract/statements.ts";
import { paperFile } from "./file-answer.ts";
import type { Acting, Handlers } from "./handler.ts";
import { present } from "./present.ts";

export function statementHandlers(deps: OperationDeps): Handlers<keyof typeof statementRoutes> {
  const { companies, statements } = deps;
  return {
    "GET /api/console/company": ({ session }) => readCompanyPage(deps, session.orgId),

    "POST /api/console/company": async ({ session, body, by }) => {
      const company = readCompany(body);
      if (company instanceof ConsoleRefusal) return company;
      await companies.change(session.orgId, company, by);
      return await readCompanyPage(deps, session.orgId);
    },

    "GET /api/console/statements": async ({ session }) => {
      const months = (await statements.list(session.orgId)) ?? [];
      return { data: months.map((each) => present(StatementSummary, each)) };
    },

    "GET /api/console/statements/:month": (call) =>
      showMonth(deps, call, async (statement) =>
        present(Statement, statement, {
          has_left_journal: statement.hasLeft,
          ...statement.document,
          ...(await readCompanyPage(deps, call.session.orgId)),
        }),
      ),

    "GET /api/console/statements/:month/statement.csv": (call) =>
      showMonth(deps, call, (statement) => ({
        fileName: `statement-${call.params.month}.csv`,
        pieces: onePiece(statementCsv(statement)),
      })),

    "GET /api/console/statements/:month/statement.pdf": (call) =>
      showMonth(deps, call, async (statement) => {
        const { orgId } = call.session;
        const company = (await companies.find(orgId)) ?? null;
        const name = (await deps.accounts.findOrg(orgId))?.name ?? "";
        const seller = sellerOf(deps.config, deps.consoleUrl());
        return paperFile(statementPaper(statement, seller, { name, company }));
      }),

    "GET /api/console/statements/:month/statement.json": (call) =>
      showMonth(deps, call, ({ document }) => ({
        fileName: `statement-${call.params.month}.json`,
        pieces: onePiece(JSON.stringify(document)),
      })),
  };
}

const CATCHING_UP = conflict(
  "statements of earlier months are still being prepared; open this page again in a minute",
);

async function readCompanyPage(deps: OperationDeps, orgId: OrgId): Promise<CompanyPage> {
  const company = await deps.companies.find(orgId);
  return {
    company: company === undefined ? null : present(CompanyData, company),
    issuer: presentIssuer(sellerOf(deps.config, deps.consoleUrl())),
  };
}

/** While many earlier months wait to be closed, a page gets a 409 and a command keeps reading. */
async function showMonth<T>(
  { statements }: OperationDeps,
  { session, params }: { readonly session: Acting; readonly params: { readonly month: string } },
  show: (statement: StoredStatement) => T | Promise<T>,
): Promise<T | ConsoleRefusal> {
  const month = parseMonth(params.month);
  if (month === undefined) return notFound("month");
  for (;;) {
    const statement = await statements.read(session.orgId, month);
    if (statement === "unknown") return notFound("month");
    if (statement !== "later") return await show(statement);
    if (session.isOperator !== true) return CATCHING_UP;
  }
}

async function* onePiece(text: string): AsyncIterable<string> {
  yield text;
}

function readCompany(body: CompanyData): Company | ConsoleRefusal {
  const company: Company = {
    legalName: body.legal_name.trim(),
    addressLines: body.address_lines.map((line) => line.trim()),
    city: body.city.trim(),
    postalCode: body.postal_code.trim(),
    country: body.country,
    taxId:
      body.tax_id === null ? null : { type: body.tax_id.type, value: body.tax_id.value.trim() },
    purchaseOrder: body.purchase_order.trim(),
  };
  const texts = {
    legal_name: company.legalName,
    ...Object.fromEntries(company.addressLines.map((line, at) => [`address_lines.${at}`, line])),
    city: company.city,
    postal_code: company.postalCode,
    purchase_order: company.purchaseOrder,
    "tax_id.value": company.taxId?.value ?? "-",
  };
  for (const [field, text] of Object.entries(texts)) {
    const isOptional = field === "postal_code" || field === "purchase_order";
    if (text === "" && !isOptional) return invalidField(field, `${field} must not be blank`);
    if (!visibleText.test(text)) {
      return invalidField(field, `${field} must be one line without control characters`);
    }
  }
  const { taxId } = company;
  if (taxId !== null && !isTaxId(taxId.type, taxId.value)) {
    return invalidField(
      "tax_id.value",
      "tax_id.value does not have the format of this type; check it, or choose another type",
    );
  }
  return company;
}

export function presentIssuer({ name, addressLines, taxId, note, url }: Seller): Issuer {
  return {
    name: name || null,
    address_lines: [...addressLines],
    tax_id: taxId || null,
    note: note || null,
    url,
  };
}
