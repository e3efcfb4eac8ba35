import {
  columns,
  type Columns,
  count,
  integer,
  opaque,
  orNull,
  PROVIDER_ACTIVITY_ATTEMPTS_MAX,
  text,
  word,
} from "../../kernel/index.ts";
import { FAILED_SQL, isOfManySql } from "./listing-sums-sql.ts";

/**
 * The activity of a provider that at least 3 organizations made at least 200 calls to, none of them
 * more than half. What customers ended themselves, and what the provider refused, is not counted.
 */
export interface ProviderActivity {
  readonly providerId: string;
  readonly attempts: number;
  readonly succeeded: number;
  /** Null where the successful calls alone are of too few. */
  readonly firstByteP50Ms: number | null;
}

/** A listing whose provider reported a model that the listing does not allow. */
export interface Substitution {
  readonly providerId: string;
  readonly modelId: string;
  /** The name that it reported most often. */
  readonly servedModel: string;
  /**
   * The share of the answers that named a model; null if the answers, or the substituted ones, come
   * from too few organizations.
   */
  readonly share: number | null;
}

/**
 * Reads the newest attempts only, however many a day has, and only providers with calls of so many
 * organizations that none of them shows. What the customer ended, or the provider refused for what
 * it says, is neither success nor failure.
 */
export const PROVIDER_ACTIVITY_SQL = `
  with newest as materialized (
    select org_id, provider_id, outcome = 'completed' as is_succeeded, ${FAILED_SQL} as is_failed,
      first_byte_ms
    from (
      select org_id, provider_id, outcome, error_class, first_byte_ms from attempt
      where attempt_id >= attempt_id_at(now() - interval '24 hours')
        and state in ('settled', 'void')
      order by attempt_id desc limit ${PROVIDER_ACTIVITY_ATTEMPTS_MAX}
    ) closed
  ), of_org as (
    select provider_id, count(*) as calls, count(*) filter (where is_succeeded) as succeeded
    from newest where is_succeeded or is_failed group by provider_id, org_id
  ), known as (
    select provider_id, sum(calls)::bigint as attempts, sum(succeeded)::bigint as succeeded,
      ${isOfManySql("succeeded", "succeeded")} as is_timed
    from of_org group by provider_id having ${isOfManySql("calls", "calls")}
  )
  select provider_id, attempts, succeeded, case when is_timed then (
    select percentile_disc(0.5) within group (order by first_byte_ms) from newest n
    where n.provider_id = known.provider_id and n.is_succeeded
  ) end as p50
  from known order by provider_id`;

export const providerActivityColumns: Columns<ProviderActivity> = columns({
  providerId: word("provider_id"),
  attempts: count("attempts"),
  succeeded: count("succeeded"),
  firstByteP50Ms: orNull(integer("p50")),
});

/**
 * Reads the newest attempts, as the activity does: ids are ordered by time. Substitutions are
 * published only if they come from many organizations, because a customer who knows its own part
 * could work out the rest.
 */
export const SUBSTITUTIONS_SQL = `
  with newest as materialized (
    select org_id, provider_id, model_id, served_model, substituted from attempt
    where attempt_id >= attempt_id_at(now() - interval '24 hours') and state in ('settled', 'void')
    order by attempt_id desc limit ${PROVIDER_ACTIVITY_ATTEMPTS_MAX}
  ), of_org as (
    select provider_id, model_id, count(*) as answers,
      count(*) filter (where substituted) as substituted
    from newest where served_model is not null group by provider_id, model_id, org_id
  )
  select provider_id, model_id, (
    select mode() within group (order by n.served_model) from newest n
    where n.provider_id = o.provider_id and n.model_id = o.model_id and n.substituted
  ) as served_model, case
    when ${isOfManySql("answers", "answers")} and ${isOfManySql("substituted", "substituted")}
    then sum(substituted)::float8 / sum(answers)::float8 end as share
  from of_org o group by provider_id, model_id having sum(substituted) > 0
  order by provider_id, model_id`;

export const substitutionColumns: Columns<Substitution> = columns({
  providerId: word("provider_id"),
  modelId: word("model_id"),
  servedModel: text("served_model"),
  share: opaque("share"),
});
