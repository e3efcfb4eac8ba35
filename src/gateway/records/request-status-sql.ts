import { ATTEMPT_OUTCOMES, CLIENT_LEFT, REFUSALS, requestStatusOf } from "../../kernel/index.ts";

/** How a request ended, as sums keep it: what that is called is decided on reading. */
export const END_SQL: string = `case when outcome = 'completed' then 'ok'
      when attempts = 0 then 'none/' || error_class
      else outcome || '/' || coalesce(error_class, '') end`;

/** The status of an end: `requestStatusOf`, written out from its own answers. */
export function statusOfEndSql(end: string): string {
  const whens = ATTEMPT_OUTCOMES.flatMap((outcome) => {
    const statusOf = (errorClass: string | null): string =>
      requestStatusOf({ attempts: 1, outcome, errorClass });
    const others = Object.keys(REFUSALS).filter((each) => statusOf(each) !== statusOf(null));
    return [
      ...others.map((each) => `when ${end} = '${outcome}/${each}' then '${statusOf(each)}'`),
      `when ${end} like '${outcome}/%' then '${statusOf(null)}'`,
    ];
  });
  return `case when ${end} = 'ok' then 'succeeded'
      when ${end} = 'none/${CLIENT_LEFT}' then 'cancelled'
      when ${end} like 'none/%' then 'rejected_by_gateway'
      ${whens.join("\n      ")}
      else 'failed' end`;
}
