import {
  formatUsd,
  PAGE_STATEMENT_ATTEMPTS_MAX,
  PAGE_STATEMENT_BYTES_MAX,
  PAGE_STATEMENT_LINES_MAX,
  parseUsd,
} from "../../kernel/index.ts";
import {
  compareStatement,
  type ProviderClaim,
  readProviderClaim,
  SettlementFault,
} from "../../ledger/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { settlementRoutes } from "./contract/operator-settlement.ts";
import type { Handlers } from "./handler.ts";
import { noSuch, refTaken } from "./operator-refusals.ts";
import type { ReportGates } from "./report-gates.ts";
import {
  shownClosing,
  shownComparison,
  shownPeriod,
  shownSettlement,
  shownStatement,
} from "./show-operator.ts";

type Names = keyof typeof settlementRoutes;
type Part<P extends string> = Handlers<Extract<Names, `${string}${P}`>>;

const PERIODS_SHOWN = 200;

/** What is owed to providers: read, closed, paid, paid in advance and compared. */
export function settlementHandlers(deps: ConsoleDeps, gates: ReportGates): Handlers<Names> {
  return {
    ...settlementReads(deps, gates),
    ...paymentHandlers(deps),
    ...closeHandlers(deps, gates),
    ...reconcileHandlers(deps, gates),
  };
}

function settlementReads(
  { operator }: ConsoleDeps,
  gates: ReportGates,
): Part<"settlement"> & Part<":period_start"> {
  return {
    "GET /api/operator/settlement": ({ session }) =>
      gates.reads.run(session.orgId, async () => {
        const [balances, periods] = await Promise.all([
          operator.settlement.balances(),
          operator.settlement.periods(),
        ]);
        return shownSettlement(balances, periods.slice(0, PERIODS_SHOWN));
      }),

    "GET /api/operator/settlement/:provider_id/:period_start": ({ session, params }) =>
      gates.reads.run(session.orgId, async () => {
        const statement = await operator.settlement.statement(nameOf(params));
        return statement === undefined ? noSuch("closed period") : shownStatement(statement);
      }),
  };
}

function paymentHandlers(deps: ConsoleDeps): Part<"payment"> & Part<"deposits"> {
  const { operator } = deps;
  return {
    "POST /api/operator/settlement/:provider_id/:period_start/payment": async (call) => {
      const { params, body, by } = call;
      const ref = body.ref.trim();
      if (ref === "") return BLANK_REF;
      try {
        const { created, period } = await operator.settlement.pay({ ...nameOf(params), ref }, by);
        return { is_new: created, period: shownPeriod(period) };
      } catch (fault) {
        return refusalOf(fault);
      }
    },

    "POST /api/operator/settlement/:provider_id/deposits": async ({ params, body, by }) => {
      const { provider_id: providerId } = params;
      const amountMicroUsd = parseUsd(body.amount_usd);
      if (amountMicroUsd === undefined || amountMicroUsd <= 0n) {
        return invalidField("amount_usd", "amount_usd must be dollars above 0 such as 500.00");
      }
      const ref = body.ref.trim();
      if (ref === "") return BLANK_REF;
      if (!(await isKnownProvider(deps, providerId))) return UNKNOWN_PROVIDER;
      try {
        const paid = { providerId, amountMicroUsd, ref };
        const { created, balance } = await operator.settlement.deposit(paid, by);
        return { is_new: created, deposit_usd: formatUsd(balance.depositMicroUsd) };
      } catch (fault) {
        return refusalOf(fault);
      }
    },
  };
}

const BLANK_REF = invalidField("ref", "ref must not be blank");

const UNKNOWN_PROVIDER = new ConsoleRefusal({
  status: 404,
  code: "not_found",
  message:
    "this provider has no listing and no balance; check its ID, or use the command settlement deposit",
  field: "provider_id",
});

/** A deposit cannot be undone: money recorded for a mistyped provider would be lost. */
async function isKnownProvider(
  { operator, catalog }: ConsoleDeps,
  providerId: string,
): Promise<boolean> {
  if (catalog.current.deployments.some((each) => each.providerId === providerId)) return true;
  return (await operator.settlement.balances(providerId)).length > 0;
}

function closeHandlers({ operator }: ConsoleDeps, gates: ReportGates): Part<"/close"> {
  return {
    "POST /api/operator/settlement/close": ({ session, body, by }) =>
      gates.reads.run(session.orgId, async () => {
        const read = operator.readSettlementTerms();
        if (!read.ok) return conflict(`nothing was closed: ${read.problem}`);
        const { provider_id: providerId } = body;
        const only = providerId === undefined ? {} : { providerId };
        const request = { listed: read.terms, ...only };
        return shownClosing(await operator.settlement.closeDuePeriods(request, by));
      }),
  };
}

function reconcileHandlers({ operator }: ConsoleDeps, gates: ReportGates): Part<"/reconcile"> {
  return {
    "POST /api/operator/settlement/:provider_id/:period_start/reconcile": (call) =>
      gates.reads.run(call.session.orgId, async () => {
        const bytes = Buffer.from(call.body.statement, "utf8");
        const claim = readStatement(bytes);
        if (claim instanceof ConsoleRefusal) return claim;
        const period = (await operator.settlement.statement(nameOf(call.params)))?.period;
        if (period === undefined) return noSuch("closed period");
        const attempts = period.sums.attempts + period.late.corrections;
        if (claim.lines !== undefined && attempts > PAGE_STATEMENT_ATTEMPTS_MAX) {
          const most = PAGE_STATEMENT_ATTEMPTS_MAX.toLocaleString("en-US");
          return tooMuch(`this period has more than ${most} attempts`);
        }
        try {
          const found = await compareStatement(
            operator.settlement,
            { period, claim, bytes },
            call.by,
          );
          return shownComparison(found);
        } catch (fault) {
          return refusalOf(fault);
        }
      }),
  };
}

function readStatement(bytes: Buffer): ProviderClaim | ConsoleRefusal {
  if (bytes.length > PAGE_STATEMENT_BYTES_MAX) return tooMuch("the statement is larger than 1 MiB");
  const read = readProviderClaim(bytes.toString("utf8"));
  if (read.kind === "unreadable") return invalidField("statement", read.problem);
  const { claim } = read;
  if ((claim.lines?.length ?? 0) <= PAGE_STATEMENT_LINES_MAX) return claim;
  const most = PAGE_STATEMENT_LINES_MAX.toLocaleString("en-US");
  return tooMuch(`the statement has more than ${most} lines`);
}

function tooMuch(problem: string): ConsoleRefusal {
  return invalidField("statement", `${problem}; compare it with the command settlement reconcile`);
}

function nameOf(params: { readonly provider_id: string; readonly period_start: string }): {
  readonly providerId: string;
  readonly startMs: number;
} {
  return { providerId: params.provider_id, startMs: Date.parse(params.period_start) };
}

/** Why the books refuse; every other fault stays one. */
function refusalOf(fault: unknown): ConsoleRefusal {
  if (!(fault instanceof SettlementFault)) throw fault;
  if (fault.kind === "no_such_period") return noSuch("closed period");
  return fault.kind === "ref_taken" ? refTaken(fault) : conflict(fault.message);
}
