import { request, type ClientRequest, type IncomingMessage } from "node:http";

import { beforeAll, describe, expect, test } from "vitest";

import { createRequestId } from "../../src/kernel/core/ids.ts";
import { addKey } from "../support/add-key.ts";
import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway, type TestAccount } from "../support/gateway.ts";
import {
  at,
  bearer,
  httpCall,
  listAt,
  textAt,
  withoutIds,
  type HttpAnswer,
} from "../support/http-call.ts";
import { rawHttp } from "../support/raw-http.ts";
import { expectRefusal } from "../support/refusals.ts";
import { settledRecord } from "../support/settled.ts";
import { openTransaction, readSql, runSql } from "../support/sql.ts";

const served: HttpAnswer[] = [];

const MODELS = ["test/a", "test/b", "test/a", "test/b", "test/a"] as const;

const HEADER =
  "request_id,created,key_id,model,provider,route,prompt,cached_prompt,cache_write,completion," +
  "internal_reasoning,cost_usd,cost_micro_usd,settlement";
const ROWS_MANY = 1_234;
/** More rows than the sockets buffer, so that the writer has to wait for a reader that stopped. */
const ROWS_HEAVY = 1_500;
const HEAVY_MODEL = `heavy/${"x".repeat(12_000)}`;
/** The copies that `accountWithCopies` makes are dated one second apart, all before this time. */
const NEWEST_COPY = "2026-04-20T12:00:00Z";

let many: TestAccount;
let heavy: TestAccount;

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

beforeAll(async () => {
  for (const model of MODELS) served.push(await chat(account, model));
  many = await accountWithCopies(ROWS_MANY, null);
  heavy = await accountWithCopies(ROWS_HEAVY, HEAVY_MODEL);
});

async function chat({ key }: TestAccount, model: string): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/chat/completions`;
  const answer = await httpCall(url, { body: chatBody(model), headers: bearer(key) });
  expect(answer.status).toBe(200);
  return answer;
}

/** An organization with one request and copies of it, each a second older than the last. */
async function accountWithCopies(rows: number, model: string | null): Promise<TestAccount> {
  const copied = await gateway.account("5.00");
  await chat(copied, "test/a");
  await runSql(
    gateway,
    `insert into attempt
    select (jsonb_populate_record(a, jsonb_build_object(
      'attempt_id', a.attempt_id - n, 'model_id', coalesce($3, a.model_id), 'request_id',
      lpad(to_hex((extract(epoch from $4::timestamptz) * 1000)::bigint - n * 1000), 12, '0')
        || '7000800000000000' || lpad(to_hex(n), 4, '0')))).*
    from attempt a, generate_series(1, $2::int) n where org_id = $1`,
    [copied.orgId, rows, model, NEWEST_COPY],
  );
  return copied;
}

async function read(
  path: string,
  key: string = account.key,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  return await httpCall(gateway.url + path, { headers: { ...bearer(key), ...headers } });
}

async function usage(query: string, { key }: TestAccount = account): Promise<HttpAnswer> {
  return await read(`/v1/usage${query}`, key);
}

/** The lines after the header; the file must end with a line end. */
function linesOf(answer: HttpAnswer, header: string = HEADER): readonly string[] {
  const [first, ...lines] = answer.text.split("\r\n");
  expect(first).toBe(header);
  expect(lines.pop()).toBe("");
  return lines;
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

  test("has pages without a gap or a repetition", async () => {
    const seen: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 5; page += 1) {
      const query = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const { json } = await read(`/v1/usage?limit=2${query}`);
      const rows = listAt(json, "data");
      seen.push(...rows.map((row) => at(row, "request_id")));
      const more = at(json, "has_more");
      expect(rows).toHaveLength(more === true ? 2 : 1);
      if (more !== true) break;
      cursor = textAt(json, "next_cursor");
    }
    expect(seen).toEqual(served.map(idOf).toReversed());
  });

  test("counts neither refused requests nor another organization's", async () => {
    const other = await gateway.account("1.00");
    const url = `${gateway.url}/v1/chat/completions`;
    await httpCall(url, { body: chatBody("nope"), headers: bearer(other.key) });
    const { json } = await read("/v1/usage", other.key);
    expect(json).toMatchObject({ data: [], balance: { settled_usd: 1 }, month: { spent_usd: 0 } });
  });

  test.each(["from=99999999999", "to=0", "to=0001-01-01T00:00:00.000%2B02:00"])(
    "?%s is a time far away, for which rows and sums are empty",
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

describe("GET /v1/usage?format=csv", () => {
  test("is a file of every request, newest first, with the figures of the JSON answer", async () => {
    const rows = listAt((await usage("")).json, "data");
    const file = await usage("?format=csv");
    expect(file.status).toBe(200);
    expect(file.headers["content-type"]).toBe("text/csv; charset=utf-8");
    expect(file.headers["content-disposition"]).toBe('attachment; filename="usage.csv"');
    expect(linesOf(file)).toEqual(rows.map(lineOfRow));
    expect(rows.length).toBeGreaterThanOrEqual(MODELS.length);
  });

  test("has every request, over any number of pages", async () => {
    const lines = linesOf(await usage("?format=csv", many));
    expect(lines).toHaveLength(ROWS_MANY + 1);
    const ids = lines.map((line) => line.slice(0, 36));
    expect(ids).toEqual([...new Set(ids)].sort().toReversed());
    expect(ids.slice(0, 1_000)).toEqual(
      listAt((await usage("?limit=1000", many)).json, "data").map((row) => at(row, "request_id")),
    );
  });

  test("respects the time, the cursor and the limit of the query", async () => {
    const some = await usage("?format=csv&from=2026-04-20T11:58:00Z&to=2026-04-20T11:59:00Z", many);
    expect(linesOf(some)).toHaveLength(60);
    expect(some.headers["content-disposition"]).toBe(
      'attachment; filename="usage-from-2026-04-20-to-2026-04-20.csv"',
    );
    expect(linesOf(await usage("?format=csv&to=2026-01-01", many))).toEqual([]);
    expect(linesOf(await usage("?format=csv&limit=501", many))).toHaveLength(501);
    const { json } = await usage("?limit=1000", many);
    const rest = await usage(`?format=csv&cursor=${textAt(json, "next_cursor")}`, many);
    expect(linesOf(rest)).toHaveLength(ROWS_MANY + 1 - 1_000);
  });

  test("has sums when group_by is set", async () => {
    const sums = "requests,prompt,cached_prompt,cache_write,completion,internal_reasoning";
    const costs = "cost_usd,cost_micro_usd";
    for (const [by, name] of [
      ["model", "model"],
      ["key", "key_id"],
    ]) {
      const groups = listAt((await usage(`?group_by=${by}`)).json, "data");
      const file = await usage(`?group_by=${by}&format=csv`);
      expect(linesOf(file, `${name},${sums},${costs}`)).toEqual(
        groups.map((group) =>
          [at(group, "group"), at(group, "requests"), ...tokensOf(group), ...costsOf(group)].join(),
        ),
      );
      expect(file.headers["content-disposition"]).toContain(`"usage-by-${by}.csv"`);
    }
  });

  test("is also chosen by the accept header, and refused like the JSON answer", async () => {
    const chosen = await read("/v1/usage", account.key, { accept: "text/csv" });
    expect(chosen.headers["content-type"]).toBe("text/csv; charset=utf-8");
    const refused = await usage("?format=csv&from=never");
    expectRefusal(refused, { status: 400, code: "invalid_request", message: "from" });
  });

  test("has no cell that runs as a formula, and keeps quotes and line ends inside their cell", async () => {
    const odd = await gateway.account("5.00");
    await chat(odd, "test/a");
    // Sets a model id that no catalog has; the triggers would refuse to change a closed attempt.
    await runSql(gateway, "alter table attempt disable trigger user", []);
    const sql = "update attempt set model_id = $2 where org_id = $1";
    await runSql(gateway, sql, [odd.orgId, '-2+"3",\n4']);
    await runSql(gateway, "alter table attempt enable trigger user", []);
    const cell = `"'-2+""3"",\n4"`;
    expect(linesOf(await usage("?format=csv", odd))[0]).toContain(`,${cell},prov-a,`);
    expect((await usage("?format=csv&group_by=model", odd)).text).toContain(`\r\n${cell},1,`);
  });
});

describe("the end of a CSV file", () => {
  test("is a connection reset after a fault, so that no client takes a part for the whole file", async () => {
    const opened = await openFile(heavy);
    await runSql(gateway, "alter table attempt rename column earlier to away", []);
    try {
      await expect(opened.rest()).rejects.toThrow(/aborted|ECONNRESET/);
      // A fault before the first row is an ordinary error.
      expectRefusal(await usage("?format=csv"), { status: 500, code: "gateway_error" });
    } finally {
      await runSql(gateway, "alter table attempt rename column away to earlier", []);
    }
    expect(linesOf(await usage("?format=csv&limit=3", heavy))).toHaveLength(3);
  });

  test("is the end of the connection for an HTTP/1.0 client, which gets the whole file", async () => {
    const head = `GET /v1/usage?format=csv HTTP/1.0\r\nhost: x\r\nauthorization: Bearer ${many.key}`;
    const answer = await rawHttp(gateway.url, `${head}\r\n\r\n`);
    expect(answer.closed).toBe(true);
    const [, body = ""] = answer.text.split("\r\n\r\n");
    expect(body.split("\r\n")).toHaveLength(ROWS_MANY + 3);
  });
});

test("an organization with four unread CSV files is refused a fifth until it leaves", async () => {
  const opened = await Promise.all([1, 2, 3, 4].map(() => openFile(heavy)));
  const fifth = await usage("?format=csv", heavy);
  expectRefusal(fifth, { status: 429, code: "rate_limit", message: "already being written" });
  expect(fifth.headers["retry-after"]).toBeDefined();
  expect((await usage("?format=csv", many)).status).toBe(200);
  for (const each of opened) each.leave();
  await until("files may be opened again", async () => {
    const answer = await usage("?format=csv&limit=1", heavy);
    return answer.status === 200;
  });
});

test("twelve usage sums of one organization at once get ten answers and two 429s", async () => {
  const lock = "lock table attempt in access exclusive mode";
  const locked = await openTransaction({ connectionString: gateway.config.databaseUrl }, lock);
  const sums = Array.from({ length: 12 }, () => usage("?group_by=provider", many));
  try {
    const early: HttpAnswer[] = [];
    for (const sum of sums) void sum.then((answer) => early.push(answer));
    await until("two are refused", async () => early.length >= 2);
    for (const answer of early) {
      expectRefusal(answer, {
        status: 429,
        code: "rate_limit",
        message: "too many sums of the usage",
      });
    }
    expect((await read("/v1/limits")).status).toBe(200);
  } finally {
    await locked.end();
  }
  const answers = await Promise.all(sums);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
});

describe.each(["/v1/usage", "/v1/limits", "/v1/generation?id=", "/v1/videos/"])(
  "an organization that sends many requests of %s at once",
  (path) => {
    test("keeps no database connection from others, and its requests wait for their turn", async () => {
      const id = path.endsWith("/") ? `video_${"0".repeat(32)}` : createRequestId(Date.now());
      const url = /[=/]$/.test(path) ? path + id : path;
      const lock = "lock table attempt, video_job, spend in access exclusive mode";
      const locked = await openTransaction({ connectionString: gateway.config.databaseUrl }, lock);
      const reads = Array.from({ length: 40 }, () => read(url, many.key));
      try {
        await until("the first ones wait for the lock", async () => {
          const waiting = "select pid from pg_locks where not granted";
          return (await readSql(gateway, waiting, [])).length > 1;
        });
        const { rulesStore } = gateway.backend;
        expect(await rulesStore.listEndpoints(account.orgId)).toEqual([]);
      } finally {
        await locked.end();
      }
      const statuses = new Set((await Promise.all(reads)).map(({ status }) => status));
      expect(statuses).not.toContain(429);
    });
  },
);

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

interface OpenFile {
  /** Reads on to the end; rejects when the connection breaks. */
  rest(): Promise<string>;
  leave(): void;
}

/**
 * Requests the file and reads only its first bytes. Repeats the request after a 503, because a new
 * connection to the database may take too long on a busy machine.
 */
async function openFile(owner: TestAccount): Promise<OpenFile> {
  const sent: ClientRequest = request(`${gateway.url}/v1/usage?format=csv`, {
    agent: false,
    headers: bearer(owner.key),
  });
  sent.on("error", () => undefined);
  sent.end();
  const response = await new Promise<IncomingMessage>((done, failed) => {
    sent.once("response", done);
    sent.once("error", failed);
  });
  response.on("error", () => undefined);
  if (response.statusCode === 503) {
    sent.destroy();
    return await openFile(owner);
  }
  expect(response.statusCode).toBe(200);
  let text = await new Promise<string>((done) => {
    response.once("data", (chunk: Buffer) => {
      response.pause();
      done(chunk.toString());
    });
  });
  return {
    rest: async () => {
      for await (const chunk of response) text += String(chunk);
      return text;
    },
    leave: () => sent.destroy(),
  };
}

function lineOfRow(row: unknown): string {
  const created = textAt(row, "request_id").replaceAll("-", "").slice(0, 12);
  return [
    at(row, "request_id"),
    new Date(Number.parseInt(created, 16)).toISOString(),
    at(row, "key_id"),
    at(row, "model"),
    at(row, "provider"),
    at(row, "route"),
    ...tokensOf(row),
    ...costsOf(row),
    at(row, "settlement"),
  ].join();
}

function tokensOf(row: unknown): readonly unknown[] {
  return ["prompt", "cached_prompt", "cache_write", "completion", "internal_reasoning"].map(
    (name) => at(row, `usage.${name}`),
  );
}

function costsOf(row: unknown): readonly unknown[] {
  const micro = Number(at(row, "cost_micro_usd"));
  return [(micro / 1_000_000).toFixed(6), micro];
}
