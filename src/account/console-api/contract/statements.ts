import { Type, type Static } from "typebox";

import { TAX_ID_TYPES } from "../../../kernel/core/tax-id-types.ts";
import { Count, Instant, nullable, oneOf, Usd, Fields } from "./shared.ts";

export const CompanyData = Fields({
  legal_name: Type.String({ minLength: 1, maxLength: 200 }),
  address_lines: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
    minItems: 1,
    maxItems: 3,
  }),
  city: Type.String({ minLength: 1, maxLength: 100 }),
  postal_code: Type.String({ maxLength: 20 }),
  country: Type.String({ pattern: "^[A-Z]{2}$", description: "a country code like DE" }),
  tax_id: nullable(
    Fields({ type: oneOf(...TAX_ID_TYPES), value: Type.String({ minLength: 2, maxLength: 40 }) }),
  ),
  billing_email: Type.String({ maxLength: 254 }),
  purchase_order: Type.String({ maxLength: 30 }),
});
export type CompanyData = Static<typeof CompanyData>;

export const Issuer = Type.Object({
  /** Null if no name is set; the issuer is then the installation at `url`. */
  name: nullable(Type.String()),
  address_lines: Type.Array(Type.String()),
  tax_id: nullable(Type.String()),
  note: nullable(Type.String()),
  url: Type.String(),
});
export type Issuer = Static<typeof Issuer>;

export const CompanyPage = Type.Object({
  company: nullable(CompanyData),
  issuer: Issuer,
});
export type CompanyPage = Static<typeof CompanyPage>;

const StatementState = oneOf("so_far", "closing", "due", "closed");
const MonthParam = Type.String({
  pattern: "^20[0-9]{2}-(0[1-9]|1[0-2])$",
  description: "a month like 2026-11",
});

export const StatementSummary = Type.Object({
  month: Type.String(),
  /** `closing`: ended less than six hours ago; `due`: is closed soon, or when it is first read. */
  state: StatementState,
  /** This and the next three fields are null until the statement is closed. */
  number: nullable(Type.String()),
  opening_usd: nullable(Usd),
  closing_usd: nullable(Usd),
  closed_at: nullable(Instant),
});
export type StatementSummary = Static<typeof StatementSummary>;

const UsageLine = Type.Object({
  requests: Count,
  input_tokens: Count,
  output_tokens: Count,
  cost_usd: Usd,
});
export type UsageLine = Static<typeof UsageLine>;

const figures = {
  month: Type.String(),
  opening_usd: Usd,
  credits: Type.Array(Type.Object({ kind: Type.String(), count: Count, amount_usd: Usd })),
  usage_usd: Usd,
  closing_usd: Usd,
  lines: Type.Array(
    Type.Object({
      at: Instant,
      kind: Type.String(),
      ref: Type.String(),
      receipt: nullable(Type.String()),
      amount_usd: Usd,
    }),
  ),
  lines_left_out: Count,
  unlisted_usage_usd: Usd,
  models: Type.Array(Type.Object({ model: Type.String(), ...UsageLine.properties })),
  keys: Type.Array(
    Type.Object({ key_id: Type.String(), name: Type.String(), ...UsageLine.properties }),
  ),
};

const StatementDocument = Type.Object({
  version: Type.Literal(1),
  org_id: Type.String(),
  ...figures,
});
/** The content of a statement; its JSON text is stored, hashed and downloaded. */
export type StatementDocument = Static<typeof StatementDocument>;

export const Statement = Type.Object({
  state: StatementState,
  number: nullable(Type.String()),
  closed_at: nullable(Instant),
  sha256: nullable(Type.String()),
  differences: Type.Array(Type.String()),
  has_left_journal: Type.Boolean(),
  ...figures,
  company: nullable(CompanyData),
  issuer: Issuer,
});
export type Statement = Static<typeof Statement>;

const monthParams = Type.Object({ month: MonthParam });

export const statementRoutes = {
  "GET /api/console/company": {
    summary: "The organization's company data, and the operator's",
    needs: "read",
    answer: CompanyPage,
  },
  "POST /api/console/company": {
    summary: "Sets the company data, all fields at once; new invoices and every page have them",
    needs: "billing",
    isSetting: true,
    body: CompanyData,
    answer: CompanyPage,
  },
  "GET /api/console/statements": {
    summary: "The months of the organization, newest first",
    command: { usage: "statement list" },
    needs: "read",
    gate: "reads",
    answer: Type.Object({ data: Type.Array(StatementSummary) }),
  },
  "GET /api/console/statements/:month": {
    summary: "One monthly statement; a month that is over is closed when it is first read",
    command: { usage: "statement show <month>", verdict: "differences" },
    needs: "read",
    gate: "reads",
    params: monthParams,
    answer: Statement,
  },
  "GET /api/console/statements/:month/statement.csv": {
    summary: "The same as a table",
    command: {
      usage: "statement csv <month>",
      summary: "One monthly statement as a table",
    },
    needs: "read",
    gate: "reads",
    params: monthParams,
    answerType: "text/csv",
  },
  "GET /api/console/statements/:month/statement.pdf": {
    summary: "The same to print, with the parties of today",
    needs: "read",
    gate: "reads",
    params: monthParams,
    answerType: "application/pdf",
  },
  "GET /api/console/statements/:month/statement.json": {
    summary: "The same as a file, without company data: the text that is kept and hashed",
    needs: "read",
    gate: "reads",
    params: monthParams,
    answerType: "application/json",
  },
} as const;
