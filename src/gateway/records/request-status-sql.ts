import {
  ATTEMPT_OUTCOMES,
  type AttemptEnd,
  CLIENT_LEFT,
  REFUSALS,
  type RefusalClass,
  type RequestStatus,
  requestStatusOf,
} from "../../kernel/index.ts";
import type { ReportFilter } from "./usage-reports.ts";

const SUCCEEDED_END = "ok";
/** Of a request that has not ended. */
const OPEN_END = "in_flight";

/** How a request ended, as sums keep it: what that is called is decided on reading. */
export const ROW_END_SQL = `case when outcome = 'completed' then '${SUCCEEDED_END}'
      when outcome = '${OPEN_END}' then outcome
      else coalesce(outcome || '/' || coalesce(error_class, ''), 'failed/') end`;

/** The status of an end: `requestStatusOf`, written out from its own answers. */
export function statusOfEndSql(end: string): string {
  const byEnd = ATTEMPT_OUTCOMES.flatMap((outcome) => {
    const status = statusOf(outcome, null);
    const others = CLASSES.filter((each) => statusOf(outcome, each) !== status);
    return [
      ...others.map((each): [string, RequestStatus] => [
        `${end} = '${outcome}/${each}'`,
        statusOf(outcome, each),
      ]),
      ...(status === "failed"
        ? []
        : [[`${end} like '${outcome}/%'`, status] satisfies [string, RequestStatus]]),
    ];
  });
  const whens = byEnd.map(([condition, status]) => `when ${condition} then '${status}'`);
  return `case when ${end} = '${SUCCEEDED_END}' then 'succeeded'
      when ${end} = '${OPEN_END}' then 'in_flight'
      ${whens.join("\n      ")}
      else 'failed' end`;
}

/** Of a request without attempts, by its error class. */
export const REFUSED_STATUS_SQL = `case when error_class = '${CLIENT_LEFT}' then 'cancelled'
      else 'rejected_by_gateway' end`;

/** Whether a request without attempts can match. */
export function mayBeRefused({ statuses }: ReportFilter): boolean {
  return (
    statuses === undefined ||
    statuses.some((each) => each === "rejected_by_gateway" || each === "cancelled")
  );
}

const CLASSES = Object.keys(REFUSALS) as RefusalClass[];

function statusOf(outcome: AttemptEnd, errorClass: string | null): RequestStatus {
  return requestStatusOf({ attempts: 1, outcome, errorClass });
}
