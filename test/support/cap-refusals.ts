import { type CapPeriod, periodEndMs } from "../../src/kernel/core/cap-period.ts";
import { at, type HttpAnswer } from "./ask.ts";

export function capOf(scope: "org" | "key", period: CapPeriod = "month"): object {
  const reset = new Date(periodEndMs(period, Date.now())).toISOString();
  return {
    status: 429,
    code: "insufficient_quota",
    origin: "gateway_admission",
    scope,
    kind: "spend",
    reset,
    metadata: {
      error_type: "insufficient_quota",
      origin: "gateway_admission",
      limit_scope: scope,
      limit_kind: "spend",
      limit_id: `${scope}:…`,
      retryable: false,
      reset_at: reset,
    },
    named: [`scope ${scope}`, reset],
  };
}

export function capsOf(answers: readonly HttpAnswer[]): unknown[] {
  const refusals = answers.map(({ status, headers, json }) => {
    const message = String(at(json, "error", "message"));
    const said = JSON.stringify({
      status,
      code: headers["x-tm-error-code"],
      origin: headers["x-tm-error-origin"],
      scope: headers["x-tm-limit-scope"],
      kind: headers["x-tm-limit-kind"],
      reset: headers["x-tm-cap-reset"],
      metadata: at(json, "error", "metadata"),
      named: [/scope \w+/.exec(message)?.[0], /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(message)?.[0]],
    });
    // Several keys are refused, so the id in `limit_id` is left out of the comparison.
    return said.replace(/"limit_id":"(org|key):[^"]+"/, '"limit_id":"$1:…"');
  });
  return [...new Set(refusals)].map((each) => JSON.parse(each) as unknown);
}
