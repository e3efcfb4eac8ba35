import {
  defined,
  formatUsd,
  PAGE_STATEMENT_ATTEMPTS_MAX,
  PAGE_STATEMENT_BYTES_MAX,
  PAGE_STATEMENT_LINES_MAX,
  parseUsd,
  bySkuName,
  formatExactUsd,
  instant,
  picoUsd,
  type PicoUsd,
} from "../../kernel/index.ts";
import {
  compareStatement,
  type ProviderClaim,
  readProviderClaim,
  type PeriodName,
  SettlementFault,
  type SettlementStatement,
  type SettlementStore,
  type ProviderPeriod,
  type SettlementSums,
  linesByModel,
} from "../../ledger/index.ts";
import type { OperationDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField, noSuch, refTaken } from "./console-refusal.ts";
import {
  DifferingLine,
  OperatorComparison,
  OperatorPeriod,
  type OperatorStatement,
  ProviderOwed,
  RecordedComparison,
  type settlementRoutes,
} from "./contract/operator-settlement.ts";
import type { Handlers } from "./handler.ts";
import type { ParamsOf } from "./contract.ts";
import { present } from "./present.ts";
import { readRef } from "./read-values.ts";

type Names = keyof typeof settlementRoutes;
type Part<P extends string> = Handlers<Extract<Names, `${string}${P}`>>;

const PERIODS_SHOWN = 200;
const CLOSED_SHOWN = 200;

export function settlementHandlers(deps: OperationDeps): Handlers<Names> {
  const { settlement } = deps;
  return {
    ...paymentHandlers(deps),
    "GET /api/operator/settlement": async ({ session, query: { provider_id: providerId } }) => {
      const [balances, periods] = await Promise.all([
        settlement.balances(providerId),
        settlement.periods(providerId, session.isOperator === true ? undefined : PERIODS_SHOWN),
      ]);
      return {
        balances: balances.map((each) => present(ProviderOwed, each)),
        periods: periods.map(presentPeriod),
      };
    },

    "GET /api/operator/settlement/:provider_id/:period_start": async ({ params }) => {
      const found = await closedPeriod(settlement, params);
      return found instanceof ConsoleRefusal ? found : presentStatement(found);
    },

    "POST /api/operator/settlement/close": async ({ body, by }) => {
      const read = deps.readSettlementTerms();
      if (!read.ok) return conflict(`nothing was closed: ${read.problem}`);
      const { provider_id: providerId, until } = body;
      const untilMs = until === undefined ? undefined : Date.parse(until);
      const request = defined({ listed: read.terms, providerId, untilMs });
      const { closed, throughMs, unlisted } = await settlement.closeDuePeriods(request, by);
      return {
        closed: closed.slice(0, CLOSED_SHOWN).map(({ period }) => presentPeriod(period)),
        closed_count: closed.length,
        settled_through: instant(throughMs),
        unlisted: unlisted.map((each) => ({
          provider: each.providerId,
          terms_from: each.termsFrom,
        })),
      };
    },
    "POST /api/operator/settlement/:provider_id/:period_start/reconcile": async (call) => {
      const { statement } = call.body;
      const { isOperator = false } = call.session;
      const bytes = Buffer.from(statement, "utf8");
      const claim = isOperator ? readClaim(statement) : readPageClaim(statement, bytes.length);
      if (claim instanceof ConsoleRefusal) return claim;
      const found = await closedPeriod(settlement, call.params);
      if (found instanceof ConsoleRefusal) return found;
      const { period } = found;
      const attempts = period.sums.attempts + period.late.corrections;
      const isLong = claim.lines !== undefined && attempts > PAGE_STATEMENT_ATTEMPTS_MAX;
      if (isLong && !isOperator) {
        const most = PAGE_STATEMENT_ATTEMPTS_MAX.toLocaleString("en-US");
        return tooMuch(`this period has more than ${most} attempts`);
      }
      try {
        const stated = { period, claim, bytes };
        const compared = await compareStatement(settlement, stated, call.by);
        return present(OperatorComparison, compared, {
          first_differences: compared.firstDiffering.map((each) => present(DifferingLine, each)),
        });
      } catch (fault) {
        return toRefusal(fault);
      }
    },
  };
}

function paymentHandlers(deps: OperationDeps): Part<"payment"> & Part<"deposits"> {
  const { settlement } = deps;
  return {
    "POST /api/operator/settlement/:provider_id/:period_start/payment": async (call) => {
      const { params, body, by } = call;
      const ref = readRef(body.ref);
      if (ref instanceof ConsoleRefusal) return ref;
      try {
        const { created, period } = await settlement.pay({ ...toPeriodName(params), ref }, by);
        return { is_new: created, period: presentPeriod(period) };
      } catch (fault) {
        return toRefusal(fault);
      }
    },

    "POST /api/operator/settlement/:provider_id/deposits": async (call) => {
      const { session, params, body, by } = call;
      const { provider_id: providerId } = params;
      const amountMicroUsd = parseUsd(body.amount_usd);
      if (amountMicroUsd === undefined || amountMicroUsd <= 0n) {
        return invalidField("amount_usd", "amount_usd must be dollars above 0 such as 500.00");
      }
      const ref = readRef(body.ref);
      if (ref instanceof ConsoleRefusal) return ref;
      const isKnown = session.isOperator === true || (await isKnownProvider(deps, providerId));
      if (!isKnown || !/^[a-z0-9][a-z0-9-]{1,62}$/.test(providerId)) return UNKNOWN_PROVIDER;
      try {
        const paid = { providerId, amountMicroUsd, ref };
        const { created, balance } = await settlement.deposit(paid, by);
        return { is_new: created, deposit_usd: formatUsd(balance.depositMicroUsd) };
      } catch (fault) {
        return toRefusal(fault);
      }
    },
  };
}

const UNKNOWN_PROVIDER = new ConsoleRefusal(
  404,
  "not_found",
  "this provider has no listing and no balance; check its ID, or use the command settlement deposit",
  { field: "provider_id" },
);

/** A recorded deposit cannot be undone, so a misspelled provider id must be refused. */
async function isKnownProvider(
  { settlement, catalog }: OperationDeps,
  providerId: string,
): Promise<boolean> {
  if (catalog.current.deployments.some((each) => each.providerId === providerId)) return true;
  return (await settlement.balances(providerId)).length > 0;
}

export function readClaim(statement: string): ProviderClaim | ConsoleRefusal {
  const read = readProviderClaim(statement);
  return read.kind === "unreadable" ? invalidField("statement", read.problem) : read.claim;
}

function readPageClaim(statement: string, bytes: number): ProviderClaim | ConsoleRefusal {
  if (bytes > PAGE_STATEMENT_BYTES_MAX) return tooMuch("the statement is larger than 1 MiB");
  const claim = readClaim(statement);
  if (claim instanceof ConsoleRefusal || (claim.lines?.length ?? 0) <= PAGE_STATEMENT_LINES_MAX)
    return claim;
  const most = PAGE_STATEMENT_LINES_MAX.toLocaleString("en-US");
  return tooMuch(`the statement has more than ${most} lines`);
}

function tooMuch(problem: string): ConsoleRefusal {
  return invalidField("statement", `${problem}; compare it with the command settlement reconcile`);
}

type PeriodParams = ParamsOf<"GET /api/operator/settlement/:provider_id/:period_start">;

function toPeriodName(params: PeriodParams): PeriodName {
  return { providerId: params.provider_id, startMs: Date.parse(params.period_start) };
}

export async function closedPeriod(
  settlement: Pick<SettlementStore, "statement">,
  params: PeriodParams,
): Promise<SettlementStatement | ConsoleRefusal> {
  return (await settlement.statement(toPeriodName(params))) ?? noSuch("closed period");
}

function toRefusal(fault: unknown): ConsoleRefusal {
  if (!(fault instanceof SettlementFault)) throw fault;
  if (fault.kind === "no_such_period") return noSuch("closed period");
  return fault.kind === "ref_taken" ? refTaken(fault) : conflict(fault.message);
}

function presentPeriod(period: ProviderPeriod): OperatorPeriod {
  const { late, payment, sums } = period;
  return present(OperatorPeriod, period, {
    state: payment === null ? "closed" : "paid",
    ...presentSums(sums),
    late: presentPart(late.attempts, late.costPicoUsd),
    late_corrections: presentPart(late.corrections, late.correctedPicoUsd),
  });
}

function presentPart(attempts: bigint, costPicoUsd: PicoUsd) {
  return { attempts: Number(attempts), cost_usd: formatExactUsd(costPicoUsd) };
}

function presentSums(sums: SettlementSums) {
  return {
    attempts: Number(sums.attempts),
    settled_attempts: Number(sums.settled),
    void_attempts: Number(sums.voids),
    tokens: bySkuName<bigint, number>(sums, Number),
    cost_usd: formatExactUsd(sums.costPicoUsd),
    cost_pico_usd: sums.costPicoUsd.toString(),
    debit_usd: formatUsd(sums.debitMicroUsd),
    overrun_usd: formatUsd(sums.overrunMicroUsd),
    margin_usd: formatUsd(sums.marginMicroUsd),
    unknown: { attempts: Number(sums.unknowns), charged_usd: formatUsd(sums.unknownMicroUsd) },
    corrections: {
      ...presentPart(sums.corrections, sums.correctedPicoUsd),
      resolved_usd: formatUsd(sums.resolvedMicroUsd),
    },
    lost: presentPart(sums.lostClaims, sums.lostPicoUsd),
  };
}

export function presentStatement(statement: SettlementStatement): OperatorStatement {
  const { period, lines, claims } = statement;
  return {
    period: presentPeriod(period),
    models: linesByModel(lines).map(({ modelId, upstreamModelId, sums }) => ({
      model: modelId,
      upstream_model: upstreamModelId,
      ...presentSums(sums),
    })),
    reconciliations: claims.map((claim) => {
      const { lines: counts, theirPicoUsd, ourPicoUsd } = claim;
      const differencePicoUsd = picoUsd(theirPicoUsd - ourPicoUsd);
      return present(
        RecordedComparison,
        { ...claim, differencePicoUsd },
        {
          differing_lines: counts && counts.differing + counts.onlyTheirs + counts.onlyOurs,
        },
      );
    }),
  };
}
