import { Agent, request } from "node:http";

import { afterAll, expect, test } from "vitest";

import { BufferPool, type LentBuffer } from "../../src/kernel/core/buffer-pool.ts";
import { Random } from "../simulation/random.ts";
import { quickOrDeep, seedOf } from "../support/depth.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";
import { type ArrivedRequest, RecordingProvider } from "../support/recording-provider.ts";
import { withResource } from "../support/with-resource.ts";

/* Request bodies share reused memory, and no byte of one may get into another. */

const REQUESTS = quickOrDeep(60, 1_600);
const CLIENTS = 16;
const MODELS = 20;
const MiB = 1024 * 1024;
/** Less memory than simultaneous requests need. */
const POOL_BYTES = 12 * MiB;
/** More bytes than the system buffers for a connection whose other end does not read. */
const LONG_BODY_BYTES = 4_100_000;
const UNLIMITED = 1_000_000_000;

/** Overwrites returned memory, so that a late reader sees foreign bytes. */
class OverwritingPool extends BufferPool {
  exhausted = 0;
  returned = 0;

  override lend(length: number): LentBuffer | undefined {
    const loan = super.lend(length);
    if (loan === undefined) this.exhausted += 1;
    return loan;
  }

  override ended(bytes: number, memory: Buffer | undefined): void {
    if (memory !== undefined) this.returned += 1;
    memory?.fill("!");
    super.ended(bytes, memory);
  }
}

const random = new Random(seedOf("request bodies"));
const pool = new OverwritingPool(POOL_BYTES);
/** The providers of the first and of the second candidate of every model. */
const providers = [0, 1].map(() => new RecordingProvider(new Random(random.between(0, 1e9))));
const upstreamIds = ["the-first-of-both-providers", "2"] as const;
const addresses = providers.map((provider) => withResource(() => provider.listen()));
const gateway = withGateway(() => ({
  bodyPool: pool,
  settings: {
    orgRequestsPerMinute: UNLIMITED,
    keyRequestsPerMinute: UNLIMITED,
    tokensPerMinute: UNLIMITED,
    concurrentRequests: UNLIMITED,
  },
  manifests: addresses.map(({ url }, at) =>
    simulatorManifest({
      provider: `provider-${at}`,
      dialect: "wire_a",
      priority: at,
      baseUrl: `${url}/v1`,
      models: Array.from({ length: MODELS }, (_, model) =>
        textModel(`market/${model}`, { upstream_id: upstreamIds[at], context_length: 100 * MiB }),
      ),
    }),
  ),
}));
const account = withAccount(gateway, "100000.00", { requestsPerMinute: UNLIMITED });
const agent = new Agent({ keepAlive: true });
afterAll(() => agent.destroy());

test("no provider gets a byte of another request's body, although bodies share reused memory", async () => {
  const calls = Array.from({ length: REQUESTS }, (_, at) => drawCall(at));
  const queue = calls.values();
  const statuses: number[] = [];
  const client = async (): Promise<void> => {
    for (const call of queue) statuses.push(await makeCall(call));
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  // Waits until all lent memory was returned or given up, however its request ended.
  while (pool.lentBytes > 0) await new Promise((resolve) => setTimeout(resolve, 5));

  const foreign = providers.flatMap(({ arrived }, at) => {
    const expected = calls.map(({ body, model }) =>
      Buffer.from(body.replace(`"market/${model}"`, `"${upstreamIds[at]}"`)),
    );
    return arrived.flatMap((each) => problemOf(each, expected));
  });
  expect(foreign).toEqual([]);

  // The run must have met all the cases that it is about.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(REQUESTS / 10);
  expect(statuses).toContain(0);
  expect(pool.returned).toBeGreaterThan(REQUESTS / 2);
  expect(pool.exhausted).toBeGreaterThan(REQUESTS / 20);
  for (const { arrived } of providers) {
    expect(new Set(arrived.map(({ manner }) => manner)).size).toBe(4);
  }
});

interface Call {
  readonly model: number;
  readonly body: string;
  /** True if the body is sent without a length. */
  readonly chunked: boolean;
  /** The share of the body after which the client leaves; at 1, it has sent the whole body. */
  readonly leavesAfter: number | undefined;
}

function drawCall(at: number): Call {
  const model = random.between(0, MODELS - 1);
  const bytes = at % 8 === 0 ? LONG_BODY_BYTES : random.between(1_000, 400_000);
  const mark = `<${at}>`;
  const messages = [{ role: "user", content: mark.repeat(Math.ceil(bytes / mark.length)) }];
  const name = { model: `market/${model}` };
  const body = random.chance(0.5)
    ? { ...name, max_tokens: 5, messages }
    : { max_tokens: 5, messages, ...name };
  const leavesAfter = random.chance(0.25) ? random.between(0, 4) / 4 : undefined;
  return { model, body: JSON.stringify(body), chunked: random.chance(0.2), leavesAfter };
}

/** Resolves with the status of the answer, or 0 if the client left before an answer. */
async function makeCall({ body, chunked, leavesAfter }: Call): Promise<number> {
  return await new Promise((resolve) => {
    const sent = request(`${gateway.url}/v1/chat/completions`, {
      agent,
      method: "POST",
      headers: {
        authorization: `Bearer ${account.key}`,
        ...(chunked ? {} : { "content-length": body.length }),
      },
    });
    sent.on("error", () => resolve(0));
    sent.on("close", () => resolve(0));
    sent.on("response", (response) => {
      response.on("error", () => resolve(0));
      response.on("end", () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    if (leavesAfter === undefined) sent.end(body);
    else sent.write(body.slice(0, leavesAfter * body.length), () => sent.destroy());
  });
}

/** Reports bytes that are not the beginning of any sent request of the declared length. */
function problemOf(
  { declaredBytes, chunks, manner }: ArrivedRequest,
  expected: readonly Buffer[],
): string[] {
  const bytes = Buffer.concat(chunks);
  const isOf = (whole: Buffer): boolean =>
    whole.length === declaredBytes && whole.subarray(0, bytes.length).equals(bytes);
  if (expected.some(isOf)) return [];
  const shown = new Set(bytes.toString("latin1").match(/<\d+>|!/g));
  return [
    `${bytes.length} of ${declaredBytes} bytes (${manner}): ${[...shown].slice(0, 5).join(" ")}`,
  ];
}
