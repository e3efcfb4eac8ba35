import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { post, type HttpAnswer } from "../support/ask.ts";
import { withSimulator } from "../support/gateway.ts";
import type { ImageAnswerCost, ImageAnswerOrder } from "../support/image-answer-child.ts";
import { quickOrDeep } from "../support/depth.ts";
import { imageManifest, imageModel } from "../support/image-models.ts";
import { openAccountByCommands, serve, withOperatorFolder } from "../support/operator.ts";
import type { RunningProgram } from "../support/program.ts";

const MiB = 1024 * 1024;
const FILE_BYTES = 30 * MiB;

/** Measures the cost of carrying one answer through a fresh process. */
async function carry(order: ImageAnswerOrder): Promise<ImageAnswerCost> {
  const file = join(import.meta.dirname, "../support/image-answer-child.ts");
  const child = fork(file, [], { execArgv: ["--expose-gc", "--import", "tsx"] });
  await once(child, "message");
  child.send(order);
  const [cost] = (await once(child, "message")) as [ImageAnswerCost];
  await once(child, "exit");
  return cost;
}

describe("an image answer of 30 MiB", () => {
  test.each(quickOrDeep([1_400], [65_536, 1_400, 64]))(
    "read in pieces of %i bytes takes less than 1.6 times its size in memory, and 500 ms a step",
    async (pieceBytes) => {
      const cost = await carry({ fileBytes: FILE_BYTES, pieceBytes });
      expect(cost.answerBytes).toBeGreaterThan((FILE_BYTES * 4) / 3);
      expect(cost.writtenBytes).toBeGreaterThan((FILE_BYTES * 4) / 3);
      // The answer itself, and 60% more for what small parts take beside their bytes.
      expect(cost.peakBytes).toBeLessThan(1.6 * cost.answerBytes);
      expect(cost.slowestStepMs).toBeLessThan(500);
      expect(cost.timerLagMs).toBeLessThan(2_000);
    },
  );
});

describe.skipIf(process.platform !== "linux")("the whole program", () => {
  const simulator = withSimulator();
  const folder = withOperatorFolder(simulator);
  let running: RunningProgram | undefined;
  let key = "";

  beforeAll(async () => {
    const baseUrl = `${simulator.url}/img/v1`;
    folder.writeManifest(
      "images.json",
      imageManifest({ baseUrl, models: [imageModel("pic/one")] }),
    );
    running = await serve(folder);
    ({ key } = await openAccountByCommands(["--data", folder.dataDir], "50.00"));
  });
  afterAll(async () => {
    await running?.end("SIGTERM");
  });

  function draw(bytes: number): Promise<HttpAnswer> {
    const prompt = `a bicycle [[fault:image:{"bytes":${bytes}}]]`;
    const body = JSON.stringify({ model: "pic/one", prompt });
    return post(String(running?.ready["gateway_url"]), {
      key,
      path: "/v1/images/generations",
      body,
    });
  }

  test("holds at most three copies of an answer of 30 MiB at any moment", async () => {
    // Two warm-up answers keep permanent allocations out of the measurement.
    for (let i = 0; i < 2; i += 1) expect((await draw(1_000)).status).toBe(200);
    const before = peakFromNow();
    const answer = await draw(FILE_BYTES);
    expect(answer.status).toBe(200);
    expect(answer.text.length).toBeGreaterThan((FILE_BYTES * 4) / 3);
    expect(memoryBytes("VmHWM") - before).toBeLessThan(3 * answer.text.length);
  });

  test("refuses an image answer of 150 MiB with a memory peak below three times the size bound", async () => {
    const before = peakFromNow();
    const answer = await draw(150 * MiB);
    expect([answer.status, answer.headers["x-tm-error-code"]]).toEqual([502, "gateway_error"]);
    expect(memoryBytes("VmHWM") - before).toBeLessThan(3 * 44 * MiB);
  });

  /** Resets the kernel's peak of resident memory; returns the resident bytes. */
  function peakFromNow(): number {
    writeFileSync(`/proc/${running?.process.pid}/clear_refs`, "5");
    return memoryBytes("VmRSS");
  }

  function memoryBytes(field: "VmRSS" | "VmHWM"): number {
    const status = readFileSync(`/proc/${running?.process.pid}/status`, "utf8");
    const value = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1];
    if (value === undefined) throw new Error(`the kernel does not report ${field}`);
    return Number(value) * 1024;
  }
});
