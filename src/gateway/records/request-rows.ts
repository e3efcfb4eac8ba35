import { MANAGED_SQL } from "../accounts/key-store.ts";
import { TWO_DAYS_OF_IDS } from "../../ledger/index.ts";
import { type Bind, TOKENS } from "./report-parts.ts";
import type { ReportFilter } from "./usage-reports.ts";

/** A column of a request's final `attempt` row, combined with the earlier rows. */
export function withEarlier(column: string, of = ""): string {
  const [own, earlier] = [`${of}${column}`, `(${of}earlier).${column}`];
  return `coalesce(${own} + ${earlier}, ${own}, ${earlier})`;
}

const sumsSql = (of = ""): string =>
  [
    ...TOKENS.map((column) => `${withEarlier(column, of)} as ${column}`),
    `coalesce(${withEarlier("debit", of)}, 0) as debit`,
    `${withEarlier("duration_ms", of)}::integer as duration_ms`,
  ].join(", ");

/** The columns of requests, from the final rows of `attempt`. */
export const ENDED_COLUMNS_SQL: string = `request_id, key_id, model_id, provider_id, route, stream,
      1 + coalesce((earlier).attempts, 0) as attempts, coalesce(outcome, 'failed') as outcome,
      error_class, first_byte_ms, basis, ${sumsSql()}`;

/** Requests that have ended, each of which is its last attempt. */
export function endedRequestsSql(org: string, where: string): string {
  return `select ${ENDED_COLUMNS_SQL} from attempt where final and org_id = ${org} and ${where}
      and request_id not in (select request_id from hold where org_id = ${org} and not annulled)`;
}

/**
 * Requests with an open attempt, which are few, with what their finished ones have used: an attempt
 * that ended late may be behind the open one. Each is looked up: joined as a whole, many holds of
 * one organization would have the planner read the attempts of all.
 */
export function openRequestsSql(org: string, where: string): string {
  const ofLast = (column: string, ofOpen: string): string =>
    `case when (h.ordinal, h.attempt_id) < (a.ordinal, a.attempt_id) then a.${column}
        else ${ofOpen} end as ${column}`;
  return `
    select h.request_id, h.key_id, h.model_id, ${ofLast("provider_id", "h.provider_id")}, h.route,
      h.stream,
      h.open + case when a.final then 1 + coalesce((a.earlier).attempts, 0) else 0 end as attempts,
      'in_flight' as outcome, ${ofLast("error_class", "null")}, ${ofLast("first_byte_ms", "null")},
      ${ofLast("basis", "null")}, ${sumsSql("a.")}
    from (
      select distinct on (request_id) *, count(*) over (partition by request_id) as open
      from hold where org_id = ${org} and not annulled and ${where}
      order by request_id, ordinal desc, attempt_id desc
    ) h left join lateral (${FINAL_OF_HOLD_SQL}) a on true`;
}

/** The last finished attempts of open requests, if they have any. */
export function endedOfOpenSql(org: string, where: string): string {
  return `select a.* from (
      select org_id, request_id, min(attempt_id) as attempt_id from hold
      where org_id = ${org} and not annulled and ${where} group by 1, 2
    ) h cross join lateral (${FINAL_OF_HOLD_SQL}) a`;
}

const FINAL_OF_HOLD_SQL = `
      select * from attempt f where f.org_id = h.org_id and f.request_id = h.request_id and f.final
        and f.attempt_id > h.attempt_id - ${TWO_DAYS_OF_IDS}
        and f.attempt_id < h.attempt_id + ${TWO_DAYS_OF_IDS} offset 0`;

/** The columns of rows of `refused_request`: requests without attempts. */
export const REFUSED_COLUMNS_SQL: string = `request_id, key_id, model_id, null as provider_id, route,
      stream, 0::bigint as attempts, 'refused' as outcome, error_class,
      null::integer as first_byte_ms, null as basis,
      ${TOKENS.map((column) => `null::bigint as ${column}`).join(", ")}, 0::bigint as debit,
      null::integer as duration_ms`;

/** False if the filter names a provider: refused requests never reached one. */
export function mayBeRefused({ providerIds, statuses }: ReportFilter): boolean {
  const isAsked = statuses?.some((each) => each === "rejected_by_gateway" || each === "cancelled");
  return providerIds === undefined && isAsked !== false;
}

/** The condition that a filter puts on requests. No key of the marketplace can be asked for by its id. */
export function matchSql(
  filter: Omit<ReportFilter, "fromMs" | "toMs">,
  { org, status }: { readonly org: string; readonly status: string },
  $: Bind,
): string {
  const { modelIds, providerIds, keyIds, managed, statuses } = filter;
  const matchAny = (column: string, values: readonly string[] | undefined, also = ""): string[] =>
    values === undefined ? [] : [`${column} = any (${$(values)}::text[])${also}`];
  const keys = [
    ...matchAny("key_id", keyIds, ` and not ${MANAGED_SQL}`),
    ...matchAny("origin", managed),
  ].join(" or ");
  return [
    "true",
    ...matchAny("model_id", modelIds),
    ...matchAny("provider_id", providerIds),
    ...(keys === ""
      ? []
      : [`key_id in (select key_id from api_key where org_id = ${org} and (${keys}))`]),
    ...matchAny(status, statuses),
  ].join(" and ");
}
