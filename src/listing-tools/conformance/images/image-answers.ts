import { type Deployment, exactCost, quoteImages } from "../../../catalog/index.ts";
import {
  assert,
  floorToMicroUsd,
  parseUsdToPico,
  promptTokensTotal,
  asObject,
  textOf,
} from "../../../kernel/index.ts";
import { type ImageReport, readImageReport, type Fields } from "../../../formats/index.ts";
import { failed, type Finding, passed, skipped, chooseWorst } from "../report/finding.ts";
import { imageCount, imageProbes } from "./image-probes.ts";
import { fileOfBase64, hashPicture, type ImageSize, readImageSize } from "./image-file.ts";
import type { Lab, Probe } from "../probing/lab.ts";
import { describeFailure, isServed, type Observation } from "../probing/observation.ts";
import { jsonFlaw, parseFields } from "../chat/read-chat.ts";

export interface ImageAnswer {
  readonly json: Fields;
  readonly sizes: readonly (ImageSize | undefined)[];
  /** Hash of each item's picture; undefined if the item cannot be decoded. */
  readonly pictures: readonly (string | undefined)[];
  readonly report: ImageReport;
}

export function readImages({ body, status }: Observation): ImageAnswer | undefined {
  const json = parseFields(body);
  if (json === undefined || status !== 200) return undefined;
  const items: readonly unknown[] = Array.isArray(json["data"]) ? json["data"] : [];
  const images = items.map((item) => {
    const file = fileOfBase64(textOf(asObject(item)?.["b64_json"]));
    const size = file && readImageSize(file);
    const picture = file && size && hashPicture(file, size);
    return picture === undefined ? undefined : { size, picture };
  });
  const sizes = images.map((image) => image?.size);
  const pictures = images.map((image) => image?.picture);
  return { json, sizes, pictures, report: readImageReport(json, body.toString("utf8")) };
}

/** C2 of images: the requested number of images, each of which can be decoded. */
export async function imageShape(lab: Lab): Promise<Finding> {
  const parts: (Finding | undefined)[] = [];
  for (const probe of imageProbes.plain(lab)) {
    parts.push(shapeFinding(lab.deployment, probe, await lab.ask(probe)));
  }
  return chooseWorst(parts, passed("as many images as were asked for, as PNG, JPEG or WebP"));
}

function shapeFinding(
  deployment: Deployment,
  probe: Probe,
  seen: Observation,
): Finding | undefined {
  const count = imageCount(probe);
  const evidence = { probe: seen.probe, status: seen.status, asked: count };
  const flaw = jsonFlaw(seen);
  if (flaw !== undefined) return failed(flaw, evidence);
  const answer = readImages(seen);
  assert(answer !== undefined, "an answer without a flaw is a JSON object");
  const { sizes } = answer;
  if (sizes.length !== count) {
    return failed(`${sizes.length} images where ${count} were asked for`, evidence);
  }
  const at = sizes.indexOf(undefined);
  if (at !== -1) {
    return failed(`data[${at}].b64_json is not a PNG, JPEG or WebP that can be decoded`, evidence);
  }
  // An answer that costs more than the reserve is refused for that, which C11 judges.
  if (isServed(seen) || isAboveHold(deployment, probe, answer)) return undefined;
  const why = describeFailure(seen);
  return failed(`${seen.probe}: the gateway cannot use the answer: ${why}`, evidence);
}

/** True if the answer costs more than its reserve. The gateway does not deliver such an answer. */
function isAboveHold(deployment: Deployment, { body }: Probe, answer: ImageAnswer): boolean {
  const { prices, billing, modelId, maxOutputTokens: ceiling } = deployment;
  const { usage, costUsd } = answer.report;
  if (prices === null || ceiling === undefined) return false;
  const cost =
    billing === "reported_cost" ? parseUsdToPico(costUsd ?? "") : usage && exactCost(prices, usage);
  if (cost === undefined) return false;
  const input = Buffer.byteLength(JSON.stringify({ model: modelId, ...body }));
  const images = imageCount({ body });
  return floorToMicroUsd(cost) > quoteImages(prices, { input, images, ceiling });
}

/** C4 of images: billed tokens are valid counts, and add up. */
export async function imageUsage(lab: Lab): Promise<Finding> {
  const { deployment } = lab;
  const parts: (Finding | undefined)[] = [];
  for (const probe of imageProbes.plain(lab)) {
    const answer = readImages(await lab.ask(probe));
    if (answer !== undefined) parts.push(usageFinding(deployment, probe, answer));
  }
  if (parts.length === 0) return skipped("no request for images was answered");
  return chooseWorst(parts, passed("the tokens that are reported are counts, and add up"));
}

/** A provider that reports its cost may omit token counts, because C11 checks the cost. */
function usageFinding(
  { billing, modelId }: Deployment,
  { name, body }: Probe,
  { report }: ImageAnswer,
): Finding | undefined {
  const evidence = { probe: name };
  if (report.flaw !== undefined) return failed(report.flaw, evidence);
  if (report.usage === undefined) {
    return billing === "token" ? failed("an answer reports no usage", evidence) : undefined;
  }
  const tokens = promptTokensTotal(report.usage);
  const bytes = Buffer.byteLength(JSON.stringify({ model: modelId, ...body }));
  if (billing !== "token" || tokens <= bytes) return undefined;
  return failed("more input tokens are billed than the request has bytes", { tokens, bytes });
}
