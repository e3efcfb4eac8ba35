import { ATTEMPT_OUTCOMES, CLIENT_LEFT, REFUSALS, toRequestStatus } from "../../kernel/index.ts";

/** The end of a request as the sums store it; its public status is derived when it is read. */
export const END_SQL: string = `case when outcome = 'completed' then 'ok'
      when attempts = 0 then 'none/' || error_class
      else outcome || '/' || coalesce(error_class, '') end`;

/** The status of an end: `toRequestStatus`, written out from its own answers. */
export function statusOfEndSql(end: string): string {
  const whens = ATTEMPT_OUTCOMES.flatMap((outcome) => {
    const classifyEnd = (errorClass: string | null): string =>
      toRequestStatus({ attempts: 1, outcome, errorClass });
    const others = Object.keys(REFUSALS).filter((each) => classifyEnd(each) !== classifyEnd(null));
    return [
      ...others.map((each) => `when ${end} = '${outcome}/${each}' then '${classifyEnd(each)}'`),
      `when ${end} like '${outcome}/%' then '${classifyEnd(null)}'`,
    ];
  });
  return `case when ${end} = 'ok' then 'succeeded'
      when ${end} = 'none/${CLIENT_LEFT}' then 'cancelled'
      when ${end} like 'none/%' then 'rejected_by_gateway'
      ${whens.join("\n      ")}
      else 'failed' end`;
}
