import { TWO_DAYS_OF_IDS } from "../../ledger/index.ts";
import { TOKENS } from "./report-parts.ts";

/** Of a row of `attempt` that is final: a column of the attempt and of those before it. */
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

/** Of rows of `attempt` that are final: the requests that they are. */
export const ENDED_COLUMNS_SQL: string = `request_id, key_id, model_id, provider_id, route, stream,
      1 + coalesce((earlier).attempts, 0) as attempts, coalesce(outcome, 'failed') as outcome,
      error_class, first_byte_ms, basis, ${sumsSql()}`;

/**
 * Requests with an open attempt, which are few, with what their finished ones have used: an attempt
 * that ended late may be behind the open one. Each is looked up: joined as a whole, many holds of
 * one organization would have the planner read the attempts of all.
 */
export function openRequestsSql(where: string): string {
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
      from hold where ${where} order by request_id, ordinal desc, attempt_id desc
    ) h left join lateral (${FINAL_OF_HOLD_SQL}) a on true`;
}

/** Of open requests: the last of their finished attempts, of those that have one. */
export function endedOfOpenSql(where: string): string {
  return `select a.* from (
      select org_id, request_id, min(attempt_id) as attempt_id from hold where ${where} group by 1, 2
    ) h cross join lateral (${FINAL_OF_HOLD_SQL}) a`;
}

const FINAL_OF_HOLD_SQL = `
      select * from attempt f where f.org_id = h.org_id and f.request_id = h.request_id and f.final
        and f.attempt_id > h.attempt_id - ${TWO_DAYS_OF_IDS}
        and f.attempt_id < h.attempt_id + ${TWO_DAYS_OF_IDS} offset 0`;
