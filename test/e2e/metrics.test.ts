import { beforeAll, describe, expect, test } from "vitest";

import { METRICS } from "../../src/kernel/metrics/metrics-table.ts";
import { ask } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { hasPromtool, promtoolComplaints } from "../support/promtool.ts";

const CANARY = "canary-7f3a";
const gateway = withGateway();
const account = withAccount(gateway, "5.00", { requestsPerMinute: 3 });

async function scrape(accept = "text/plain"): Promise<string> {
  const answer = await fetch(`${gateway.running.internalUrl}/metrics`, { headers: { accept } });
  expect(answer.status).toBe(200);
  return await answer.text();
}

/** Names of what is shown, without the endings of a histogram's samples. */
function shownNames(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name));
}

let shown = "";

beforeAll(async () => {
  const { key } = account;
  const asked = { key, wire: "wire_a", model: "test/both" } as const;
  await ask(gateway.url, { ...asked, text: CANARY });
  await ask(gateway.url, { ...asked, text: CANARY, stream: true });
  const fault = { path: "/a/v1/chat/completions", fault: "status:503", times: 1 };
  const method = "POST";
  await fetch(`${gateway.simulator.url}/faults`, { method, body: JSON.stringify(fault) });
  await ask(gateway.url, { ...asked, text: CANARY });
  // This request exceeds the key's requests a minute.
  await ask(gateway.url, { ...asked, text: CANARY });
  await ask(gateway.url, { ...asked, key: `tm_vk_${CANARY}`, text: CANARY });
  await gateway.backend.audit();
  await until("the books were read", async () => (await scrape()).includes("tm_books_owed_usd"));
  shown = await scrape();
});

test("every metric of the reference is exposed after a few calls, unless it may be empty", () => {
  const names = shownNames(shown);
  const missing = Object.entries(METRICS)
    .filter(([name, row]) => row.mayBeEmpty !== true && !names.has(name))
    .map(([name]) => name);
  expect(missing).toEqual([]);
});

test("every exposed metric is in the reference, with the same type", () => {
  const typed = [...shown.matchAll(/^# TYPE (tm_\S+) (\S+)/gm)];
  const found = typed.map(([, name = "", type = ""]) => [name, type]);
  const known = Object.entries(METRICS).map(([name, { type }]) => [name, type]);
  expect(known).toEqual(expect.arrayContaining(found));
  const others = [...shownNames(shown)].filter((name) => !name.startsWith("tm_"));
  expect(others.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([]);
});

test("every label is in the reference, and none names an organization, a key or a prompt", () => {
  for (const [, name = "", labels = ""] of shown.matchAll(/^(tm_\w+)\{(.*)\} /gm)) {
    const base = name.replace(/_(bucket|sum|count)$/, "");
    const row = Object.entries(METRICS).find(([each]) => each === name || each === base)?.[1];
    const allowed = [...(row?.labels ?? []).map((label) => label.name), "le"];
    const used = [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label);
    expect(allowed, name).toEqual(expect.arrayContaining(used));
  }
  for (const secret of [account.orgId, account.keyId, account.key, CANARY, "t@example.com"]) {
    expect(shown).not.toContain(secret);
  }
});

test("the values are those of the calls", () => {
  const lines = shown.split("\n");
  const value = (series: string): number =>
    Number(
      lines
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")
        .at(-1),
    );
  const both = 'provider="prov-a",model="test/both"';
  const route = 'route="/v1/chat/completions"';
  expect(value(`tm_request_duration_seconds_count{${route},stream="true",end="served"}`)).toBe(1);
  expect(value(`tm_request_duration_seconds_count{${route},stream="false",end="refused"}`)).toBe(2);
  expect(value(`tm_overhead_seconds_count{${route}}`)).toBe(3);
  expect(value(`tm_first_output_seconds_count{${both}}`)).toBe(1);
  expect(value(`tm_output_token_seconds_count{${both}}`)).toBe(1);
  expect(value(`tm_tokens_total{${both},kind="completion"}`)).toBeGreaterThan(0);
  expect(value(`tm_provider_cost_usd_total{${both}}`)).toBeGreaterThan(0);
  expect(value('tm_failovers_total{provider="prov-a",error="upstream_error"}')).toBe(1);
  const limit = 'scope="key",kind="rpm",origin="gateway_admission"';
  expect(value(`tm_limit_refusals_total{${limit}}`)).toBe(1);
  expect(value("tm_books_last_audit_violations")).toBeNaN();
  expect(value('tm_instance_state{state="serving"}')).toBe(1);
  expect(value('tm_ledger_faults_total{lane="reserve",kind="busy"}')).toBe(0);
  expect(value("tm_books_partitions_ahead")).toBeGreaterThan(3);
  expect(value('tm_schema_level{of="database"}')).toBe(value('tm_schema_level{of="program"}'));
  expect(value(`tm_circuit_open{${both}}`)).toBe(0);
  expect(value("tm_limit_store_up")).toBe(1);
  expect(value('tm_changes_total{action="key.create"}')).toBe(1);
});

test("a scraper that asks for OpenMetrics gets the same series and an end mark", async () => {
  const text = await scrape("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  expect(text).toContain("# TYPE tm_requests counter\ntm_requests_total{");
  const names = (all: string): string[] =>
    [...all.matchAll(/^(tm_\w+)[{ ]/gm)].map(([, name = ""]) => name);
  expect(new Set(names(text))).toEqual(new Set(names(shown)));
});

describe.skipIf(!hasPromtool)("promtool's check of the metrics", () => {
  test("finds nothing", () => {
    expect(promtoolComplaints(shown)).toBe("");
  });
});
