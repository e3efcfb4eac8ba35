import { request, type ClientRequest, type IncomingMessage } from "node:http";

import { beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, listAt, textAt, type HttpAnswer } from "../support/http-call.ts";
import { rawHttp } from "../support/raw-http.ts";
import { expectRefusal } from "../support/refusals.ts";
import { runSql } from "../support/sql.ts";

const HEADER =
  "request_id,created,key_id,model,provider,route,prompt,cached_prompt,cache_write,completion," +
  "internal_reasoning,cost_usd,cost_micro_usd,settlement";
const ROWS_MANY = 1_234;
/** More rows than a pair of sockets buffers, so that a stopped reader makes the writer wait. */
const ROWS_HEAVY = 1_500;
const HEAVY_MODEL = `heavy/${"x".repeat(12_000)}`;
/** The copies' requests came one a second before this instant. */
const NEWEST_COPY = "2026-04-20T12:00:00Z";

let many: TestAccount;
let heavy: TestAccount;

const gateway = withGateway();
/** An account with three requests. */
const few = withAccount(gateway, "5.00");

beforeAll(async () => {
  for (const model of ["test/a", "test/b", "test/a"]) await chat(few, model);
  many = await accountWithCopies(ROWS_MANY, null);
  heavy = await accountWithCopies(ROWS_HEAVY, HEAVY_MODEL);
});

async function chat(account: TestAccount, model: string): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/chat/completions`;
  const answer = await httpCall(url, { body: chatBody(model), headers: bearer(account.key) });
  expect(answer.status).toBe(200);
  return answer;
}

/** An organization with one request and copies of it, each a second older than the last. */
async function accountWithCopies(rows: number, model: string | null): Promise<TestAccount> {
  const account = await gateway.account("5.00");
  await chat(account, "test/a");
  await runSql(
    gateway,
    `insert into attempt
    select (jsonb_populate_record(a, jsonb_build_object(
      'attempt_id', a.attempt_id - n, 'model_id', coalesce($3, a.model_id), 'request_id',
      lpad(to_hex((extract(epoch from $4::timestamptz) * 1000)::bigint - n * 1000), 12, '0')
        || '7000800000000000' || lpad(to_hex(n), 4, '0')))).*
    from attempt a, generate_series(1, $2::int) n where org_id = $1`,
    [account.orgId, rows, model, NEWEST_COPY],
  );
  return account;
}

async function read(
  query: string,
  account: TestAccount = few,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/usage${query}`;
  return await httpCall(url, { headers: { ...bearer(account.key), ...headers } });
}

/** The lines behind the header; the file ends with a line end. */
function linesOf(answer: HttpAnswer, header: string = HEADER): readonly string[] {
  const [first, ...lines] = answer.text.split("\r\n");
  expect(first).toBe(header);
  expect(lines.pop()).toBe("");
  return lines;
}

describe("GET /v1/usage?format=csv", () => {
  test("is a file of every request, newest first, with the figures of the JSON answer", async () => {
    const rows = listAt((await read("")).json, "data");
    const file = await read("?format=csv");
    expect(file.status).toBe(200);
    expect(file.headers["content-type"]).toBe("text/csv; charset=utf-8");
    expect(file.headers["content-disposition"]).toBe('attachment; filename="usage.csv"');
    expect(linesOf(file)).toEqual(rows.map(lineOfRow));
    expect(rows).toHaveLength(3);
  });

  test("has every request, over any number of pages", async () => {
    const lines = linesOf(await read("?format=csv", many));
    expect(lines).toHaveLength(ROWS_MANY + 1);
    const ids = lines.map((line) => line.slice(0, 36));
    expect(ids).toEqual([...new Set(ids)].sort().toReversed());
    expect(ids.slice(0, 1_000)).toEqual(
      listAt((await read("?limit=1000", many)).json, "data").map((row) => at(row, "request_id")),
    );
  });

  test("respects the time, the cursor and the limit of the query", async () => {
    const some = await read("?format=csv&from=2026-04-20T11:59:00Z&to=2026-04-20T12:00:00Z", many);
    expect(linesOf(some)).toHaveLength(60);
    expect(some.headers["content-disposition"]).toBe(
      'attachment; filename="usage-from-2026-04-20-to-2026-04-20.csv"',
    );
    expect(linesOf(await read("?format=csv&to=2026-01-01", many))).toEqual([]);
    expect(linesOf(await read("?format=csv&limit=501", many))).toHaveLength(501);
    const { json } = await read("?limit=1000", many);
    const rest = await read(`?format=csv&cursor=${textAt(json, "next_cursor")}`, many);
    expect(linesOf(rest)).toHaveLength(ROWS_MANY + 1 - 1_000);
  });

  test("has sums when group_by is set", async () => {
    const sums = "requests,prompt,cached_prompt,cache_write,completion,internal_reasoning";
    const costs = "cost_usd,cost_micro_usd";
    for (const [by, name] of [
      ["model", "model"],
      ["key", "key_id"],
    ]) {
      const groups = listAt((await read(`?group_by=${by}`)).json, "data");
      const file = await read(`?group_by=${by}&format=csv`);
      expect(linesOf(file, `${name},${sums},${costs}`)).toEqual(
        groups.map((group) =>
          [at(group, "group"), at(group, "requests"), ...tokensOf(group), ...costsOf(group)].join(),
        ),
      );
      expect(file.headers["content-disposition"]).toContain(`"usage-by-${by}.csv"`);
    }
  });

  test("is also chosen by the accept header, and refused like the JSON answer", async () => {
    const chosen = await read("", few, { accept: "text/csv" });
    expect(chosen.headers["content-type"]).toBe("text/csv; charset=utf-8");
    const refused = await read("?format=csv&from=never");
    expectRefusal(refused, { status: 400, code: "invalid_request", message: "from" });
  });

  test("has no cell that runs as a formula, and keeps quotes and line ends inside their cell", async () => {
    const account = await gateway.account("5.00");
    await chat(account, "test/a");
    // A closed attempt never changes; this test has to make one that no catalog would make.
    await runSql(gateway, "alter table attempt disable trigger user", []);
    const sql = "update attempt set model_id = $2 where org_id = $1";
    await runSql(gateway, sql, [account.orgId, '-2+"3",\n4']);
    await runSql(gateway, "alter table attempt enable trigger user", []);
    const cell = `"'-2+""3"",\n4"`;
    expect(linesOf(await read("?format=csv", account))[0]).toContain(`,${cell},prov-a,`);
    expect((await read("?format=csv&group_by=model", account)).text).toContain(`\r\n${cell},1,`);
  });
});

describe("the end of a file", () => {
  test("is a reset after a fault, so that no client takes the part for a whole file", async () => {
    const opened = await openFile(heavy);
    await runSql(gateway, "alter table attempt rename column earlier to away", []);
    try {
      await expect(opened.rest()).rejects.toThrow(/aborted|ECONNRESET/);
      // Before the first row it is an ordinary error.
      expectRefusal(await read("?format=csv"), { status: 500, code: "gateway_error" });
    } finally {
      await runSql(gateway, "alter table attempt rename column away to earlier", []);
    }
    expect(linesOf(await read("?format=csv&limit=3", heavy))).toHaveLength(3);
  });

  test("is the end of the connection for an HTTP/1.0 client, which gets the whole file", async () => {
    const head = `GET /v1/usage?format=csv HTTP/1.0\r\nhost: x\r\nauthorization: Bearer ${many.key}`;
    const answer = await rawHttp(gateway.url, `${head}\r\n\r\n`);
    expect(answer.closed).toBe(true);
    const [, body = ""] = answer.text.split("\r\n\r\n");
    expect(body.split("\r\n")).toHaveLength(ROWS_MANY + 3);
  });
});

describe("a client that does not read", () => {
  test("blocks its own further files only, and frees them when it leaves", async () => {
    const opened = await Promise.all([1, 2, 3, 4].map(() => openFile(heavy)));
    const fifth = await read("?format=csv", heavy);
    expectRefusal(fifth, { status: 429, code: "rate_limit", message: "already being written" });
    expect(fifth.headers["retry-after"]).toBeDefined();
    expect((await read("?format=csv", many)).status).toBe(200);
    for (const each of opened) each.leave();
    await until("files may be opened again", async () => {
      const answer = await read("?format=csv&limit=1", heavy);
      return answer.status === 200;
    });
  });
});

interface OpenFile {
  /** Reads on to the end; rejects when the connection breaks. */
  rest(): Promise<string>;
  leave(): void;
}

/**
 * Asks for the file, takes the first bytes and then nothing. Asks again after a 503: on a busy
 * machine a new connection to the database may take too long.
 */
async function openFile(account: TestAccount): Promise<OpenFile> {
  const sent: ClientRequest = request(`${gateway.url}/v1/usage?format=csv`, {
    agent: false,
    headers: bearer(account.key),
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
    return await openFile(account);
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
