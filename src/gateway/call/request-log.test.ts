import { pino } from "pino";
import { expect, test } from "vitest";

import { createRequestId } from "../../kernel/core/ids.ts";
import { Exchange } from "./client-exchange.ts";
import { RequestLog } from "./request-log.ts";

class ServedExchange extends Exchange {
  readonly gone = false;

  header(): undefined {
    return undefined;
  }
}

test("a stream that broke after its 200 is logged with the failed requests, a served one is not", () => {
  const lines: string[] = [];
  const log = new RequestLog(
    pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
  );
  const begun = { requestId: createRequestId(0), route: "/v1/messages", trace: undefined };
  const exchange = new ServedExchange(begun);
  const answered = { method: "POST", status: 200, durationMs: 5, traceId: undefined };
  log.answered(exchange, answered);
  expect(lines).toEqual([]);
  exchange.brokeOff();
  log.answered(exchange, answered);
  expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
    { request_id: exchange.requestId, status: 200, broke_off: true },
  ]);
});
