import { type Alert, HOURS_26 } from "./alert.ts";

const MISSING = "tm_usage_missing_total";
const OVERRUN = "tm_overrun_usd_total";
const RECOVERED = "tm_ledger_recovered_total";

/** Alerts about money: the books and their audits, costs, purchases and settlement periods. */
export const MONEY_ALERTS = {
  TmBooksBroken: {
    expr: "max(tm_books_last_audit_violations) > 0",
    level: "page",
    summary: "The last audit of the books found violations.",
    fires: { series: { tm_books_last_audit_violations: "2x5" }, at: "5m" },
    quiet: { series: { tm_books_last_audit_violations: "0x5" }, at: "5m" },
  },
  TmBooksWentBack: {
    expr: "max(tm_books_went_back) > 0",
    level: "page",
    summary: "The database lost committed attempts: it went back to an earlier state.",
    fires: { series: { tm_books_went_back: "0 0 1 1" }, at: "3m" },
    quiet: { series: { tm_books_went_back: "0x3" }, at: "3m" },
  },
  TmSettlementsPending: {
    expr: "max(tm_ledger_oldest_closing_seconds) > 60",
    for: "2m",
    level: "page",
    summary: "Ended attempts have waited for over a minute to be settled.",
    fires: { series: { tm_ledger_oldest_closing_seconds: "0 70+60x5" }, at: "5m" },
    quiet: { series: { tm_ledger_oldest_closing_seconds: "0 70 0 0 70 0" }, at: "5m" },
  },
  TmPartitionsEnd: {
    expr: "max(tm_books_partitions_ahead) < 3",
    level: "page",
    summary: "The journal has partitions for less than three days ahead.",
    fires: { series: { tm_books_partitions_ahead: "3 2 2" }, at: "2m" },
    quiet: { series: { tm_books_partitions_ahead: "3x2" }, at: "2m" },
  },
  TmAuditOld: {
    // An installation that was never audited has no series for the time of its last audit.
    expr:
      `(time() - max(tm_books_last_audit_timestamp_seconds) > ${HOURS_26}) or ` +
      "(absent(tm_books_last_audit_timestamp_seconds) and on() " +
      `(time() - min(process_start_time_seconds and on(instance) tm_build_info) > ${HOURS_26}))`,
    level: "ticket",
    summary: "The books were not audited for 26 hours.",
    fires: {
      series: { process_start_time_seconds: "0x1600", tm_build_info: "1x1600" },
      at: "1570m",
    },
    quiet: {
      series: {
        process_start_time_seconds: "0x1600",
        tm_build_info: "1x1600",
        tm_books_last_audit_timestamp_seconds: "6000x1600",
      },
      at: "1570m",
    },
    isLong: true,
  },
  TmSoldBelowCost: {
    expr: "max by (provider, model) (tm_listing_below_cost) > 0",
    level: "ticket",
    summary:
      "{{ $labels.model }} of {{ $labels.provider }} is sold for less than its provider is owed.",
    fires: { series: { 'tm_listing_below_cost{provider="p",model="m"}': "0x2 1x5" }, at: "5m" },
    quiet: { series: { 'tm_listing_below_cost{provider="p",model="m"}': "0x5" }, at: "5m" },
  },
  TmChargedUnknown: {
    // A process counts before its first scrape what it finds at its start, and `increase()` sees
    // only what is above the value of the process before it.
    expr:
      `sum(increase(${RECOVERED}[1h]) > 0 or (${RECOVERED} ` +
      "and on (instance, job) (time() - process_start_time_seconds < 3600))) > 0",
    level: "ticket",
    summary: "Attempts of a dead instance were charged at their reserve.",
    fires: { series: { tm_ledger_recovered_total: "0x9 3x9" }, at: "15m" },
    alsoFires: {
      series: { tm_ledger_recovered_total: "1x99", process_start_time_seconds: "0x60 3660x39" },
      at: "75m",
    },
    quiet: {
      series: {
        'tm_ledger_recovered_total{instance="old"}': "3x99",
        'process_start_time_seconds{instance="old"}': "0x99",
        'tm_ledger_recovered_total{instance="new"}': "0x99",
        'process_start_time_seconds{instance="new"}': "3660x99",
      },
      at: "80m",
    },
  },
  TmUsageMissing: {
    // The first answer without usage creates the series, and `increase()` ignores a first value.
    expr:
      `sum by (provider, model) (increase(${MISSING}[15m]) > 0 ` +
      `or (${MISSING} unless ${MISSING} offset 15m)) > 0`,
    level: "ticket",
    summary: "{{ $labels.provider }} answered {{ $labels.model }} without usage: not billed.",
    fires: { series: { 'tm_usage_missing_total{provider="p",model="m"}': "_x20 1x9" }, at: "22m" },
    quiet: { series: { 'tm_usage_missing_total{provider="p",model="m"}': "1x40" }, at: "30m" },
  },
  TmOverrun: {
    // An overrun can create the series, and `increase()` ignores a first value.
    expr: `sum(increase(${OVERRUN}[1h]) > 0 or (${OVERRUN} unless ${OVERRUN} offset 1h)) > 1`,
    level: "ticket",
    summary: "Calls cost over one dollar more in an hour than was held for them.",
    fires: {
      series: {
        'tm_overrun_usd_total{provider="p",model="grows"}': "0x60 0.7x9",
        'tm_overrun_usd_total{provider="p",model="begins"}': "_x60 0.7x9",
      },
      at: "65m",
    },
    quiet: { series: { 'tm_overrun_usd_total{provider="p",model="m"}': "9x60 9.5x20" }, at: "75m" },
  },
  TmPurchaseParked: {
    expr: 'sum(increase(tm_purchases_total{end="parked"}[1h])) > 0',
    level: "ticket",
    summary: "A purchase was paid and is parked: the payment credited nothing.",
    fires: { series: { 'tm_purchases_total{end="parked"}': "0x9 1x9" }, at: "15m" },
    quiet: {
      series: {
        'tm_purchases_total{end="parked"}': "0x19",
        'tm_purchases_total{end="granted"}': "0+1x19",
      },
      at: "15m",
    },
  },
  TmPeriodUnclosed: {
    expr: "max(tm_books_unclosed_periods) > 0",
    level: "ticket",
    summary: "A provider's settlement period ended over 36 hours ago and is not closed.",
    fires: { series: { tm_books_unclosed_periods: "1x3" }, at: "3m" },
    quiet: { series: { tm_books_unclosed_periods: "0x3" }, at: "3m" },
  },
} as const satisfies Readonly<Record<string, Alert>>;
