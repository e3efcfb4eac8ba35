import {
  columns,
  type OrgId,
  type Row,
  text,
  TOKEN_BUCKETS,
  type Usage,
} from "../../kernel/index.ts";
import { hourUsageColumns, SUMMED_USAGE_SQL } from "../../ledger/index.ts";
import { attemptsOutsideSql, idsOfDay, SKUS } from "./report-parts.ts";
import type { ReportSources } from "./report-sources.ts";
import { withEarlier } from "./request-rows.ts";

/** Tokens of an organization with a model of one provider. */
export interface ListingTraffic {
  readonly orgId: OrgId;
  readonly modelId: string;
  readonly usage: Usage;
}

/**
 * The use of a provider by every organization from a UTC day (`YYYY-MM-DD`) on. Days that are
 * summed up for all organizations are read from sums, the others from the journal: each request
 * once, with the provider and the day of its last attempt.
 */
export async function listingTraffic(
  sources: Pick<ReportSources, "runNow">,
  asked: { readonly providerId: string; readonly fromDay: string },
): Promise<readonly ListingTraffic[]> {
  const { providerId, fromDay } = asked;
  const rows = await sources.runNow(async (client) => {
    // No day leaves the journal until this transaction ends.
    await client.query("lock table only attempt in access share mode");
    const summed = await client.query<{ day: string }>(SUMMED_DAYS_SQL, [fromDay]);
    const days = summed.rows.map(({ day }) => day);
    const values = [providerId, days, idsOfDay(fromDay).first];
    return (await client.query<Row>(trafficSql(days), values)).rows;
  });
  return rows.map(trafficColumns.read);
}

const trafficColumns = columns<ListingTraffic>({
  orgId: text("org_id"),
  modelId: text("model_id"),
  usage: hourUsageColumns,
});

/** $1 the first day: days whose sums of every organization hold. */
const SUMMED_DAYS_SQL = `
  select to_char(u.day, 'YYYY-MM-DD') as day from usage_day u
  where u.is_done and u.day >= $1::date
    and not exists (select from usage_stale s where s.day = u.day)
    and not exists (select from retired_day d where d.day = u.day)
  order by u.day`;

const USED_SQL = SKUS.map((column) => `${withEarlier(column)} as ${column}`).join(", ");

/** $1 provider, $2 the summed days, $3 the first id of the first day. */
function trafficSql(days: readonly string[]): string {
  return `
  select org_id, model_id, ${SUMMED_USAGE_SQL}
  from (
    select org_id, model_id, ${SKUS.join(", ")} from usage_sum where day = any ($2::date[]) and provider_id = $1
    union all
    select org_id, model_id, ${USED_SQL} from attempt
    where final and provider_id = $1 and attempt_id >= $3::bigint and ${attemptsOutsideSql(days)}
  ) used
  group by org_id, model_id
  having ${Object.values(TOKEN_BUCKETS)
    .map((column) => `coalesce(sum(${column}), 0)`)
    .join(" + ")} > 0
  order by org_id, model_id`;
}
