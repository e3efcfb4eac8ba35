import { beforeAll, describe, expect, test } from "vitest";
import { addKey } from "../support/add-key.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, listAt, withoutIds, type HttpAnswer } from "../support/http-call.ts";
import { expectRefusal } from "../support/refusals.ts";
import { settledRecord } from "../support/settled.ts";

const served: HttpAnswer[] = [];

const MODELS = ["test/a", "test/b", "test/a", "test/b", "test/a"] as const;

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

beforeAll(async () => {
  for (const model of MODELS) {
    const url = `${gateway.url}/v1/chat/completions`;
    served.push(await httpCall(url, { body: chatBody(model), headers: bearer(account.key) }));
  }
});

async function read(path: string, key: string = account.key): Promise<HttpAnswer> {
  return await httpCall(gateway.url + path, { headers: bearer(key) });
}

const idOf = (answer: HttpAnswer | undefined): string => String(answer?.headers["x-request-id"]);
const costOf = (answer: HttpAnswer | undefined): number => Number(at(answer?.json, "usage.cost"));
const microOf = (answer: HttpAnswer | undefined): number => Math.round(costOf(answer) * 1_000_000);

describe("GET /v1/usage", () => {
  test("shows the balance, the month and every request, newest first", async () => {
    const { json, status } = await read("/v1/usage");
    expect(status).toBe(200);
    const spent = served.reduce((sum, answer) => sum + microOf(answer), 0);
    expect(json).toMatchObject({
      object: "list",
      has_more: false,
      next_cursor: null,
      balance: {
        available_usd: (25_000_000 - spent) / 1_000_000,
        settled_usd: (25_000_000 - spent) / 1_000_000,
        held_usd: 0,
      },
      month: {
        spent_usd: spent / 1_000_000,
        cap_usd: null,
        reset_at: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/),
      },
    });
    const rows = listAt(json, "data");
    expect(rows.map((row) => at(row, "request_id"))).toEqual(served.map(idOf).toReversed());
    expect(rows[0]).toEqual({
      request_id: idOf(served[4]),
      created: expect.any(Number),
      key_id: account.keyId,
      model: "test/a",
      provider: "prov-a",
      route: "/v1/chat/completions",
      usage: expect.objectContaining({
        prompt_tokens: at(served[4]?.json, "usage.prompt_tokens"),
        completion_tokens: at(served[4]?.json, "usage.completion_tokens"),
        total_tokens: at(served[4]?.json, "usage.total_tokens"),
      }),
      cost: costOf(served[4]),
      cost_micro_usd: microOf(served[4]),
      settlement: "reported",
    });
  });

  test("counts neither refused requests nor another organization's", async () => {
    const other = await gateway.account("1.00");
    const url = `${gateway.url}/v1/chat/completions`;
    await httpCall(url, { body: chatBody("nope"), headers: bearer(other.key) });
    const { json } = await read("/v1/usage", other.key);
    expect(json).toMatchObject({ data: [], balance: { settled_usd: 1 }, month: { spent_usd: 0 } });
  });

  test.each(["limit=1001", "from=%00", "cursor=ffffffff-ffff-ffff-ffff-ffffffffffff"])(
    "?%s is a 400 that names the field",
    async (query) => {
      const message = query.slice(0, query.indexOf("="));
      const answer = await read(`/v1/usage?${query}`);
      expectRefusal(answer, { status: 400, code: "invalid_request", message });
    },
  );

  test.each(["from=99999999999", "to=0", "to=0001-01-01T00:00:00.000%2B02:00"])(
    "?%s is a time far away, and neither rows nor sums fail by it",
    async (query) => {
      for (const more of ["", "&group_by=day"]) {
        const answer = await read(`/v1/usage?${query}${more}`);
        expect(answer).toMatchObject({ status: 200, json: { object: "list", data: [] } });
      }
    },
  );
});

describe("GET /v1/generation", () => {
  test("shows a served request with its attempt", async () => {
    const answer = served[0];
    expect(await settledRecord(gateway, account, idOf(answer))).toEqual({
      id: idOf(answer),
      request_id: idOf(answer),
      model: "test/a",
      route: "/v1/chat/completions",
      stream: false,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      outcome: "completed",
      total_cost: costOf(answer),
      cost_micro_usd: microOf(answer),
      reserved_micro_usd: expect.any(Number),
      usage: tokens(answer),
      served_model: "test/a",
      substituted: false,
      dropped_params: [],
      response_headers: headersOf(answer),
      attempts: [
        {
          n: 1,
          provider: "prov-a",
          upstream_id: "test/a",
          started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          first_byte_ms: expect.any(Number),
          duration_ms: expect.any(Number),
          outcome: "completed",
          upstream_status: 200,
          error_type: null,
          tokens: tokens(answer),
          settled_cost: costOf(answer),
          settled_cost_micro_usd: microOf(answer),
          reserved_micro_usd: expect.any(Number),
          settlement: "reported",
          served_model: "test/a",
          substituted: false,
          price_sheet: {
            id: expect.stringMatching(/^[0-9a-f]{32}$/),
            above_prompt_tokens: 0,
            pricing: expect.objectContaining({ prompt: expect.stringMatching(/^0\.0/) }),
          },
        },
      ],
    });
  });

  test.each([false, true])(
    "shows the fields that were dropped and the headers that its client got (streamed: %s)",
    async (stream) => {
      const body = chatBody("test/a", { top_k: 5, stream });
      const sent = { body, headers: bearer(account.key) };
      const answer = await httpCall(`${gateway.url}/v1/messages`, sent);
      expect(answer.headers).toMatchObject({ "x-tm-dropped-params": "top_k" });
      expect(await settledRecord(gateway, account, idOf(answer))).toMatchObject({
        dropped_params: ["top_k"],
        response_headers: headersOf(answer),
      });
    },
  );

  test("answers another organization's id as an unknown id", async () => {
    const stranger = await gateway.account("1.00");
    const unknownId = "01a1f93d-5039-7ba5-a268-614908ff13f6";
    const foreign = await read(`/v1/generation?id=${idOf(served[0])}`, stranger.key);
    const unknown = await read(`/v1/generation?id=${unknownId}`, stranger.key);
    expectRefusal(foreign, { status: 404, code: "not_found" });
    expect(withoutIds(foreign)).toEqual(withoutIds(unknown));
  });

  test("answers a malformed request id with a 404 not_found", async () => {
    const own = idOf(served[0]);
    for (const id of ["", own.toUpperCase(), "%00", "ffffffff-ffff-ffff-ffff-ffffffffffff"]) {
      const answer = await read(`/v1/generation?id=${id}`);
      expectRefusal(answer, { status: 404, code: "not_found" });
    }
  });

  test("returns a request to every key of its organization", async () => {
    const path = `/v1/generation?id=${idOf(served[0])}`;
    const other = await addKey(gateway.backend, account.orgId);
    const { status, json } = await read(path, other.key);
    expect({ status, json }).toEqual({ status: 200, json: (await read(path)).json });
  });
});

/** The headers that the client got and a record shows. */
function headersOf(answer: HttpAnswer | undefined): object {
  const kept = Object.entries(answer?.headers ?? {}).filter(
    ([name]) => name.startsWith("x-tm-") || name === "retry-after",
  );
  return Object.fromEntries(kept);
}

function tokens(answer: HttpAnswer | undefined): object {
  return {
    prompt: at(answer?.json, "usage.prompt_tokens"),
    cached_prompt: 0,
    cache_write: 0,
    completion: at(answer?.json, "usage.completion_tokens"),
    internal_reasoning: 0,
  };
}
