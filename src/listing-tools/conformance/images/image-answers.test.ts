import { describe, expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import {
  type Answer,
  imageListing,
  stubLab,
} from "../../../../test/fixtures/conformance/stub-lab.ts";
import { imageShape, imageUsage } from "./image-answers.ts";
import { imageCount } from "./image-probes.ts";
import { imageSpecifics } from "./image-specifics.ts";
import { renderPng } from "../probing/media-files.ts";
import type { Probe } from "../probing/lab.ts";
import { modelVerdict } from "../report/verdict.ts";

const byToken = imageListing("token");
const byCost = imageListing("reported_cost");

/** Returns a PNG of this size in base64. Its color depends on the text `of`. */
function pngOfSize(width: number, height: number, of = ""): string {
  const colour = Buffer.from(of).reduce((sum, byte) => (31 * sum + byte) % 65_521, 7);
  return renderPng([colour >> 8, colour & 255, 0], width, height).toString("base64");
}

interface Report {
  readonly data: readonly object[];
  readonly usage?: Readonly<Record<string, unknown>> | undefined;
}

/** The answer of an honest provider. */
function honest(probe: Probe, { billing }: Deployment): Report {
  const count = imageCount(probe);
  const { size = "64x64", prompt } = probe.body;
  const [width = 0, height = 0] = (size === "auto" ? "64x64" : String(size)).split("x").map(Number);
  return {
    data: Array.from({ length: count }, (_image, at) => ({
      b64_json: pngOfSize(width, height, `${String(prompt)} ${at}`),
    })),
    usage:
      billing === "token"
        ? { input_tokens: 12, output_tokens: 4_000 * count, total_tokens: 12 + 4_000 * count }
        : { cost: 0.04 * count },
  };
}

type Cheat = (report: Report, probe: Probe) => Answer | Report | "unsent";

/** Runs C2, C4 and C11 on a provider of images, and returns their statuses. */
async function statusesOf(deployment: Deployment, cheat: Cheat = (report) => report) {
  const lab = stubLab(deployment, (probe) => {
    const answer = cheat(honest(probe, deployment), probe);
    return answer === "unsent" || !("data" in answer) ? answer : { body: answer };
  });
  const [C2, C4, C11] = [await imageShape(lab), await imageUsage(lab), await imageSpecifics(lab)];
  return { C2: C2.status, C4: C4.status, C11: C11.status };
}

const GOOD = { C2: "pass", C4: "pass", C11: "pass" };

test.each([
  ["by tokens", byToken],
  ["by its own cost", byCost],
])("an honest provider that bills %s passes C2, C4 and C11", async (_how, deployment) => {
  expect(await statusesOf(deployment)).toEqual(GOOD);
});

/** Puts the same member in the place of every image. */
function everyImage(image: object): Cheat {
  return (report) => ({ ...report, data: report.data.map(() => image) });
}

function oneOf(...values: string[]) {
  return { type: "enum", values } as const;
}

describe("only C2 fails for", () => {
  const noneOfSeveral: Cheat = (report, probe) =>
    imageCount(probe) === 1 ? report : { ...report, data: [] };
  test.each<[string, Cheat]>([
    ["one image too few", (report) => ({ ...report, data: report.data.slice(1) })],
    ["URLs", everyImage({ url: "https://a" })],
    ["a text as an image", everyImage({ b64_json: btoa("no image") })],
    ["no images where several are asked for", noneOfSeveral],
    ["another content type", (report) => ({ body: report, type: "text/html" })],
    ["an answer that the gateway cannot use", (report) => ({ body: report, unusable: "no image" })],
  ])("%s", async (_what, cheat) => {
    expect(await statusesOf(byToken, cheat)).toEqual({ ...GOOD, C2: "fail" });
  });
});

describe("only C4 fails for", () => {
  const cached = { input_tokens_details: { cached_tokens: 11 } };
  const ten = { input_tokens: 10, output_tokens: 10 };
  test.each<[string, Deployment, Readonly<Record<string, unknown>> | undefined]>([
    ["no usage", byToken, undefined],
    ["a total that is not the sum", byToken, { ...ten, total_tokens: 30 }],
    ["a cost whose tokens do not add up", byCost, { ...ten, cost: 0.04, total_tokens: 30 }],
    ["more cached tokens than input tokens", byToken, { ...ten, ...cached }],
    ["more input tokens than the prompt has bytes", byToken, { ...ten, input_tokens: 100_000 }],
  ])("%s", async (_what, deployment, usage) => {
    const cheat: Cheat = (report) => ({ ...report, usage });
    expect(await statusesOf(deployment, cheat)).toEqual({ ...GOOD, C4: "fail" });
  });
});

describe("only C11 fails for", () => {
  const stock: Cheat = (report, { body }) => {
    const width = body["size"] === "96x64" ? 96 : 64;
    const image = (at: number): object => ({ b64_json: pngOfSize(width, 64, String(at)) });
    return { ...report, data: report.data.map((_image, at) => image(at)) };
  };
  const twins: Cheat = (report) => ({
    ...report,
    data: report.data.map(() => report.data[0] ?? {}),
  });
  const half = everyImage({ b64_json: pngOfSize(32, 64) });
  const tooDear =
    (usage: object): Cheat =>
    (report) => ({ body: { ...report, usage }, unusable: "a higher cost than it can have" });
  const refusedSize: Cheat = (report, { body }) =>
    body["size"] === "96x64" ? { status: 400 } : report;
  const noImageInSize: Cheat = (report, { body }) =>
    body["size"] === "96x64" ? { body: { ...report, data: [] }, unusable: "no image" } : report;
  const oneSize = imageListing("token", { size: oneOf("96x64") });
  const jpgOnly = imageListing("token", { size: oneOf("64x64"), output_format: oneOf("jpg") });
  test.each<[string, Deployment, Cheat]>([
    ["one picture for every prompt", oneSize, stock],
    ["two images that are the same", byToken, twins],
    ["half the requested width", byToken, half],
    [
      "more tokens than the ceiling",
      byToken,
      tooDear({ input_tokens: 12, output_tokens: 100_000 }),
    ],
    ["a cost above the ceiling", byCost, tooDear({ cost: 0.09 })],
    ["no reported cost", byCost, (report) => ({ ...report, usage: {} })],
    ["no usable image in a declared size", byToken, noImageInSize],
    ["another file format than the declared one", jpgOnly, (report) => report],
    ["a refusal of a declared size", byToken, refusedSize],
  ])("%s", async (_what, deployment, cheat) => {
    expect(await statusesOf(deployment, cheat)).toEqual({ ...GOOD, C11: "fail" });
  });
});

test("a provider of PNG files passes C11 with the output_format auto or PNG", async () => {
  const parameters = { size: oneOf("64x64", "96x64"), output_format: oneOf("auto", "PNG") };
  expect(await statusesOf(imageListing("token", parameters))).toEqual(GOOD);
});

test("C11 is skipped if the budget ends before its last probe, unless an earlier image was wrong", async () => {
  const isLast = ({ body }: Probe): boolean => body["size"] === "auto";
  expect(await statusesOf(byToken, (report, probe) => (isLast(probe) ? "unsent" : report))).toEqual(
    { ...GOOD, C11: "skip" },
  );
  const wrong: Cheat = (report, probe) =>
    isLast(probe) ? "unsent" : everyImage({ b64_json: pngOfSize(9, 9) })(report, probe);
  expect(await statusesOf(byToken, wrong)).toEqual({ ...GOOD, C11: "fail" });
});

test("the verdict is inconclusive if the budget does not cover every image shape", async () => {
  const lab = stubLab(byToken, (probe) =>
    probe.body["size"] === "auto" ? "unsent" : { body: honest(probe, byToken) },
  );
  const checks = [
    { id: "C2", ...(await imageShape(lab)) } as const,
    { id: "C11", ...(await imageSpecifics(lab)) } as const,
  ];
  expect(modelVerdict(checks)).toBe("inconclusive");
});

test("a provider that fails every request fails C2, and C4 and C11 are skipped", async () => {
  expect(await statusesOf(byToken, () => ({ status: 503 }))).toEqual({
    C2: "fail",
    C4: "skip",
    C11: "skip",
  });
});
