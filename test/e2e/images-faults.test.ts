import { describe, expect, test } from "vitest";

import { brokenBooks, debitOf, ended, nothingHeld, until } from "../support/books.ts";
import { PROVIDER_KEY, withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { imageManifest, imageModel, meteredImageModel } from "../support/image-models.ts";
import { expectRefusal } from "../support/refusals.ts";

/** A fault of the provider, and the answer that the client gets. */
interface Row {
  readonly id: string;
  readonly what: string;
  /** The fault in the simulator's notation. */
  readonly fault: string;
  /** Default the reference, which prices tokens; `metered` reports its own cost. */
  readonly host?: "metered" | "ticks";
  readonly status: number;
  readonly code: string;
  readonly upstreamStatus?: string;
  /** True if the request fails over to a second provider. */
  readonly failsOver: boolean;
}

const unusable = { status: 502, code: "upstream_error", upstreamStatus: "200", failsOver: true };
const tooLarge = { status: 502, code: "gateway_error", upstreamStatus: "200", failsOver: false };
const refused = { code: "content_policy", failsOver: false };

const ROWS: readonly Row[] = [
  { ...unusable, id: "F43", what: "a 200 that cannot be parsed", fault: "bad_json" },
  { ...unusable, id: "F43", what: "a page", fault: "body:html" },
  { ...unusable, id: "F44", what: "fewer images than n", fault: 'image:{"count":1}' },
  { ...unusable, id: "F44", what: "more images than n", fault: 'image:{"count":3}' },
  { ...unusable, id: "F44", what: "addresses instead", fault: 'image:{"url_only":true}' },
  { ...unusable, id: "F44", what: "no base64", fault: 'image:{"bad_base64":true}' },
  { ...unusable, id: "F44", what: "no image", fault: 'image:{"not_an_image":true}' },
  { ...unusable, id: "F44", what: "empty files", fault: 'image:{"empty":true}' },
  {
    ...tooLarge,
    id: "F45",
    what: "over 32 MiB without a length",
    fault: 'chunked;image:{"bytes":41943040}',
  },
  { ...tooLarge, id: "F45", what: "over 32 MiB together", fault: 'image:{"bytes":17000000}' },
  {
    ...refused,
    id: "F46",
    what: "moderation with a 400",
    fault: "content_filter",
    status: 400,
    upstreamStatus: "400",
  },
  {
    ...refused,
    id: "F46",
    what: "moderation with a 451",
    fault: "content_filter",
    host: "metered",
    status: 451,
    upstreamStatus: "451",
  },
  {
    ...refused,
    id: "F46",
    what: "moderation that only flags a 200",
    fault: 'image:{"moderation_flag":true}',
    status: 400,
    upstreamStatus: "200",
  },
  {
    ...refused,
    id: "F46",
    what: "moderation that gives a reason in a 200",
    fault: 'image:{"moderation_flag":true}',
    host: "metered",
    status: 400,
    upstreamStatus: "200",
  },
  {
    ...refused,
    id: "F46",
    what: "moderation that keeps each image of a 200",
    fault: 'image:{"moderation_flag":true}',
    host: "ticks",
    status: 400,
    upstreamStatus: "200",
  },
  {
    ...unusable,
    id: "F47",
    what: "a reported cost above n ceilings",
    fault: 'image:{"cost":"0.100001"}',
    host: "metered",
  },
  {
    ...unusable,
    id: "F47",
    what: "a cost in ticks above n ceilings",
    fault: 'image:{"cost":"0.100001"}',
    host: "ticks",
  },
  {
    ...unusable,
    id: "F47",
    what: "tokens above n ceilings",
    fault: 'usage:{"output_tokens":999999}',
  },
  {
    id: "more",
    what: "a 500",
    fault: "status:500",
    status: 500,
    code: "upstream_error",
    upstreamStatus: "500",
    failsOver: true,
  },
  {
    id: "more",
    what: "an error in a 200",
    fault: "error_in_200",
    status: 500,
    code: "upstream_error",
    upstreamStatus: "200",
    failsOver: true,
  },
  {
    id: "more",
    what: "a 400 of the provider's own",
    fault: "status:400",
    status: 400,
    code: "upstream_error",
    upstreamStatus: "400",
    failsOver: false,
  },
  {
    id: "more",
    what: "an answer that breaks off",
    fault: "reset:body:60",
    status: 502,
    code: "upstream_error",
    upstreamStatus: "200",
    failsOver: true,
  },
];

const HOSTS = { reference: "img", metered: "imgor", ticks: "imgx" } as const;
const SECOND = { reference: "img-second", metered: "imgor-second", ticks: "imgx-second" } as const;

/** Each row has its own listings, so that its failures cool down no other row's provider. */
const modelOf = (row: Row, hasSecond: boolean): string =>
  `pic/${row.id}-${ROWS.indexOf(row)}${hasSecond ? "-second" : ""}`;

const gateway = withGateway(() => {
  const metered = { billing: "reported_cost" };
  const parameters = {
    n: { type: "integer", min: 1, max: 4 },
    aspect_ratio: { type: "enum", values: ["1:1"] },
  };
  const listings = (host: keyof typeof HOSTS, hasSecond: boolean): object[] =>
    ROWS.filter((row) => (row.host ?? "reference") === host).map((row) => {
      const id = modelOf(row, hasSecond);
      if (host === "reference") return imageModel(id);
      const format = { response_format: { type: "enum", values: ["b64_json"] } };
      return meteredImageModel(id, {
        supported_parameters: host === "ticks" ? { ...parameters, ...format } : parameters,
      });
    });
  const hosts = Object.keys(HOSTS) as (keyof typeof HOSTS)[];
  return {
    settings: {
      orgRequestsPerMinute: 10_000,
      keyRequestsPerMinute: 10_000,
      concurrentRequests: 100,
    },
    manifests: hosts.flatMap((host) => {
      const endpoint = host === "reference" ? {} : metered;
      return [
        imageManifest({
          provider: `first-${host}`,
          baseUrl: `{simulator}/${HOSTS[host]}/v1`,
          models: [...listings(host, false), ...listings(host, true)],
          endpoint,
        }),
        imageManifest({
          provider: `second-${host}`,
          baseUrl: `{simulator}/${SECOND[host]}/v1`,
          priority: 1,
          models: listings(host, true),
          endpoint,
        }),
      ];
    }),
  };
});
const account = withAccount(gateway, "100");

/** Requests two images, with the fault for the first provider's next call. */
async function draw(
  row: Row,
  hasSecond: boolean,
  fault = row.fault,
  prompt = "a red bicycle",
): Promise<HttpAnswer> {
  const model = modelOf(row, hasSecond);
  const path = `/${HOSTS[row.host ?? "reference"]}/v1/images/generations`;
  gateway.simulator.script({ path, model, fault, times: 1 });
  return await httpCall(`${gateway.url}/v1/images/generations`, {
    body: { model, prompt, n: 2 },
    headers: bearer(account.key),
  });
}

async function expectFree(answer: HttpAnswer, attempts: number): Promise<void> {
  const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
  expect(record.attempts).toHaveLength(attempts);
  expect(record.attempts[0]).toMatchObject({ debitMicroUsd: 0n, basis: "none", usage: null });
  expect(answer.headers["x-tm-attempts"]).toBe(String(attempts));
}

describe.each(ROWS)("$id $what", (row) => {
  test("is reported as its own class of failure every time, and costs nothing", async () => {
    const before = await gateway.backend.recordStore.balance(account.orgId);
    // The largest answers are requested once, because each is tens of megabytes.
    for (let run = 1; run <= (row.id === "F45" ? 1 : 2); run += 1) {
      // Of a failure that ends the request, the second provider is not asked.
      const answer = await draw(row, !row.failsOver);
      expectRefusal(answer, { status: row.status, code: row.code });
      expect(answer.headers["x-tm-upstream-status"]).toBe(row.upstreamStatus);
      expect(answer.headers["x-tm-error-origin"]).toBe("upstream");
      expect(at(answer.json, "error.metadata")).toMatchObject({
        error_type: row.code,
        origin: "upstream",
        retryable: row.status >= 500,
      });
      const everything = `${JSON.stringify(answer.headers)} ${answer.text}`;
      expect(everything).not.toContain(PROVIDER_KEY);
      expect(everything).not.toMatch(/simulat|127\.0\.0\.1|images\.invalid|safety system/);
      await expectFree(answer, 1);
    }
    await nothingHeld(gateway, account);
    expect(await gateway.backend.recordStore.balance(account.orgId)).toEqual(before);
    await until("the provider's sockets are closed", () => gateway.simulator.counts().open === 0);
  });
});

test.each(ROWS.filter(({ failsOver }) => failsOver))(
  "$id $what is tried at another provider, which alone is paid",
  async (row) => {
    const answer = await draw(row, true);
    await expectFree(answer, 2);
    const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
    const served = record.attempts[1];
    const isPaid = served !== undefined && served.debitMicroUsd > 0n;
    expect({
      status: answer.status,
      provider: answer.headers["x-tm-provider"],
      images: at(answer.json, "data.length"),
      cost: at(answer.json, "usage.cost"),
      isPaid,
    }).toEqual({
      status: 200,
      provider: `second-${row.host ?? "reference"}`,
      images: 2,
      cost: Number(debitOf(record)) / 1_000_000,
      isPaid: true,
    });
  },
);

function rowOf(what: string): Row {
  const row = ROWS.find((each) => each.what === what);
  if (row === undefined) throw new Error(`no row is about ${what}`);
  return row;
}

test("an answer without a length is cut off at the bound, and its provider is disconnected", async () => {
  const { abandoned } = gateway.simulator.counts();
  const row = rowOf("over 32 MiB without a length");
  const answer = await draw(row, false, 'image:{"bytes":2000000000}');
  expectRefusal(answer, { status: 502, code: "gateway_error", message: "exceed 32 MiB" });
  await until("the provider has noticed", () => gateway.simulator.counts().abandoned > abandoned);
});

describe("the health of a provider", () => {
  test("is not hurt by moderation or by images that are too large", async () => {
    const row = rowOf("moderation with a 400");
    for (let i = 0; i < 5; i += 1) expect((await draw(row, false)).status).toBe(400);
    const large = rowOf("over 32 MiB together");
    for (let i = 0; i < 4; i += 1) {
      expect((await draw(large, false)).headers["x-tm-error-code"]).toBe("gateway_error");
    }
  });

  test("is hurt by unusable answers until the gateway sends nothing more", async () => {
    const row = rowOf("a 200 that cannot be parsed");
    const statuses: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      statuses.push((await draw(row, false, row.fault, `bicycle ${i}`)).status);
    }
    expect(statuses.at(-1)).toBe(503);
    const answer = await draw(row, false);
    expectRefusal(answer, { status: 503, code: "gateway_error", message: "cooling down" });
    expect(answer.headers).toMatchObject({ "x-tm-limit-kind": "health", "retry-after": "5" });
  });
});

test("the books balance after the whole matrix", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
