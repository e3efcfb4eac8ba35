import { describe, expect, test } from "vitest";

import { brokenBooks, debitOf, ended, nothingHeld, until } from "../support/books.ts";
import { PROVIDER_KEY, withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { imageManifest, imageModel, meteredImageModel } from "../support/image-models.ts";
import { expectRefusal } from "../support/refusals.ts";

/** The answer that the client gets to a fault of the provider. */
interface Told {
  readonly status: number;
  readonly code: string;
  readonly upstreamStatus: string;
  /** True if the request fails over to a second provider. */
  readonly failsOver: boolean;
}

/** `reference` is priced by tokens; the two others report their own cost. */
type Host = "reference" | "metered" | "ticks";

function told(status: number, code: string, upstreamStatus: number, failsOver = false): Told {
  return { status, code, upstreamStatus: String(upstreamStatus), failsOver };
}

const unusable = told(502, "upstream_error", 200, true);
const tooLarge = told(502, "gateway_error", 200);
const flagged = told(400, "content_policy", 200);

type RowText = readonly [id: string, what: string, fault: string, answer: Told, host?: Host];

const MODERATED = 'image:{"moderation_flag":true}';

/** Each row: a fault's id, its description, the simulator's notation, and the client's answer. */
const TEXTS: readonly RowText[] = [
  ["F43", "a 200 that cannot be parsed", "bad_json", unusable],
  ["F43", "an HTML page", "body:html", unusable],
  ["F43", "a compressed 200", "gzip_bomb", unusable],
  ["F44", "fewer images than n", 'image:{"count":1}', unusable],
  ["F44", "more images than n", 'image:{"count":3}', unusable],
  ["F44", "URLs instead of base64", 'image:{"url_only":true}', unusable],
  ["F44", "invalid base64", 'image:{"bad_base64":true}', unusable],
  ["F44", "files that are not images", 'image:{"not_an_image":true}', unusable],
  ["F44", "empty files", 'image:{"empty":true}', unusable],
  ["F45", "2 GB without a length", 'chunked;image:{"bytes":2000000000}', tooLarge],
  ["F45", "over 32 MiB together", 'image:{"bytes":17000000}', tooLarge],
  ["F46", "moderation with a 400", "content_filter", told(400, "content_policy", 400)],
  ["F46", "moderation with a 451", "content_filter", told(451, "content_policy", 451), "metered"],
  ["F46", "a moderation flag in a 200", MODERATED, flagged],
  ["F46", "a moderation reason in a 200", MODERATED, flagged, "metered"],
  ["F46", "a 200 whose images are all withheld", MODERATED, flagged, "ticks"],
  ["F47", "a cost above n price ceilings", 'image:{"cost":"0.100001"}', unusable, "metered"],
  ["F47", "ticks above n price ceilings", 'image:{"cost":"0.100001"}', unusable, "ticks"],
  ["F47", "tokens above n price ceilings", 'usage:{"output_tokens":999999}', unusable],
  ["more", "a 500", "status:500", told(500, "upstream_error", 500, true)],
  ["more", "an error in a 200", "error_in_200", told(500, "upstream_error", 200, true)],
  ["more", "a plain 400", "status:400", told(400, "upstream_error", 400)],
  ["more", "an answer that breaks off", "reset:body:60", unusable],
];
const ROWS = TEXTS.map(([id, what, fault, answer, host = "reference"]) => {
  return { id, what, fault, host, ...answer };
});
type Row = (typeof ROWS)[number];

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
    ROWS.filter((row) => row.host === host).map((row) => {
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
async function draw(row: Row, hasSecond: boolean): Promise<HttpAnswer> {
  const model = modelOf(row, hasSecond);
  const path = `/${HOSTS[row.host]}/v1/images/generations`;
  gateway.simulator.script({ path, model, fault: row.fault, times: 1 });
  return await httpCall(`${gateway.url}/v1/images/generations`, {
    body: { model, prompt: "a red bicycle", n: 2 },
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
  test("gets its specified error every time and costs nothing", async () => {
    const { abandoned } = gateway.simulator.counts();
    const before = await gateway.backend.recordStore.balance(account.orgId);
    // The largest answers are requested once, because each is tens of megabytes.
    for (let run = 1; run <= (row.id === "F45" ? 1 : 2); run += 1) {
      // After a failure that ends the request, the second provider is not asked.
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
    // A provider that sends more than is read is disconnected.
    const left = row.fault.startsWith("chunked") ? 1 : 0;
    await until("the provider's sockets are closed", () => {
      const counts = gateway.simulator.counts();
      return counts.open === 0 && counts.abandoned >= abandoned + left;
    });
  });
});

test.each(ROWS.filter(({ failsOver }) => failsOver))(
  "$id $what: the request fails over, and only the second provider is paid",
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
      provider: `second-${row.host}`,
      images: 2,
      cost: Number(debitOf(record)) / 1_000_000,
      isPaid: true,
    });
  },
);

test("the books balance after the whole matrix", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
