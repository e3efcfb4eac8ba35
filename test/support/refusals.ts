import { expect } from "vitest";
import { systemClock } from "../../src/kernel/core/time.ts";
import { until } from "./books.ts";
import type { TestAccount, TestGateway } from "./gateway.ts";
import { at, bearer, httpCall, textAt, type HttpAnswer, type HttpCall } from "./http-call.ts";

export const REQUEST_ID: RegExp =
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export interface ExpectedRefusal {
  readonly status: number;
  readonly code: string;
  /** A part of the message, or a pattern that it must match. */
  readonly message?: string | RegExp;
}

/** Checks the parts that every error has: status, class, message, and one id in three places. */
export function expectRefusal(answer: HttpAnswer, expected: ExpectedRefusal): void {
  const { status, headers, json } = answer;
  const code = headers["x-tm-error-code"];
  expect({ status, code, text: answer.text }).toMatchObject({
    status: expected.status,
    code: expected.code,
  });
  const id = headers["x-request-id"];
  expect(id).toMatch(REQUEST_ID);
  expect(headers["request-id"]).toBe(id);
  expect(at(json, "request_id")).toBe(id);
  expect(headers["content-type"]).toBe("application/json");
  if (typeof expected.message === "string") {
    expect(textAt(json, "error.message")).toContain(expected.message);
  } else if (expected.message !== undefined) {
    expect(textAt(json, "error.message")).toMatch(expected.message);
  }
}

/** Returns the state that a refused request may not change. */
export async function accountState(gateway: TestGateway, account: TestAccount) {
  return {
    calls: gateway.simulator.counts().total,
    balance: await gateway.backend.recordStore.balance(account.orgId),
  };
}

/** Checks the record of a refused request; if there are many, it may only be counted. */
export async function expectRefusedRecord(
  gateway: TestGateway,
  account: TestAccount,
  answer: HttpAnswer,
): Promise<void> {
  const id = answer.headers["x-request-id"];
  const url = `${gateway.url}/v1/generation?id=${String(id)}`;
  const record = await until(`refused request ${String(id)} is recorded`, async () => {
    const found = await httpCall(url, { headers: bearer(account.key) });
    if (found.status === 200) return found.json;
    return (await areSomeOnlyCounted(gateway, account)) ? COUNTED : undefined;
  });
  if (record === COUNTED) return;
  const free = { attempts: [], total_cost: 0, cost_micro_usd: 0 };
  expect(record).toMatchObject({ data: { id, request_id: id, outcome: "refused", ...free } });
}

const COUNTED = Symbol("counted");
const ROWS_MAX = 500;

async function areSomeOnlyCounted({ backend }: TestGateway, { orgId }: TestAccount) {
  const nowMs = systemClock.nowMs();
  const lately = { orgId, fromMs: nowMs - 120_000, toMs: nowMs + 1, status: "refused" } as const;
  const { totals } = await backend.usageReports.report(lately, "status");
  const { rows } = await backend.usageReports.requests(lately, { limit: ROWS_MAX });
  return totals.requests > rows.length;
}

export interface CalledRoute {
  readonly gateway: TestGateway;
  readonly account: TestAccount;
  readonly path: string;
}

export async function postWithKey(route: CalledRoute, call: HttpCall): Promise<HttpAnswer> {
  const headers = { ...bearer(route.account.key), ...call.headers };
  return await httpCall(route.gateway.url + route.path, { ...call, headers });
}

/** Checks that the refusal is as expected, moves no money and reaches no provider. */
export async function expectCleanRefusal(
  route: CalledRoute,
  call: HttpCall,
  expected: ExpectedRefusal,
): Promise<HttpAnswer> {
  const { gateway, account } = route;
  const before = await accountState(gateway, account);
  const answer = await postWithKey(route, call);
  expectRefusal(answer, expected);
  expect(answer.headers["x-tm-attempts"]).toBeUndefined();
  expect(answer.headers["x-tm-provider"]).toBeUndefined();
  expect(await accountState(gateway, account)).toEqual(before);
  await expectRefusedRecord(gateway, account, answer);
  return answer;
}

/** Returns a pattern for a message that begins with the path of this field. */
export function named(field: string): RegExp {
  return new RegExp(`^${field.replaceAll(/[.[\]]/g, String.raw`\$&`)}(?![\\w])`);
}
