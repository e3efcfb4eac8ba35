import { type Deployment, quoteImages } from "../../../catalog/index.ts";
import { floorToMicroUsd, formatUsd, parseUsdToPico } from "../../../kernel/index.ts";
import { failed, type Finding, passed, skipped, chooseWorst } from "../report/finding.ts";
import { type ImageAnswer, readImages } from "./image-answers.ts";
import { imageCount, imageProbes, type ShapeProbe } from "./image-probes.ts";
import { hasShape, type ImageSize, parseShape } from "./image-file.ts";
import type { Lab, Probe } from "../probing/lab.ts";
import {
  describeFailure,
  isServed,
  type Observation,
  toUnsentFinding,
} from "../probing/observation.ts";

/** C11 of images: every declared shape is rendered, and no image costs more than the ceiling. */
export async function imageSpecifics(lab: Lab): Promise<Finding> {
  const { deployment } = lab;
  const usual = await lab.ask(imageProbes.one(lab));
  if (usual.status !== 200) return skipped(`a usual request is answered with ${usual.status}`);
  const shapes = imageProbes.shapes(lab);
  const plain = imageProbes.plain(lab);
  const priced = await lab.askEach(plain, (seen, probe) => costFinding(deployment, probe, seen));
  const shaped = await lab.askEach(
    shapes.map((shape) => ({ ...shape.probe, shape })),
    (seen, { shape }) =>
      shapeFinding(deployment, shape, seen) ??
      // If usual answers cannot be used either, C2 reports that, and no shape is blamed.
      (isServed(usual) ? unusableFinding(shape, seen) : undefined),
  );
  const others = await lab.askEach([imageProbes.other(lab)], (seen) => seen);
  const parts = [...priced.parts, ...shaped.parts, await sameFinding(lab, others.parts[0])];
  const unsent = priced.unsent ?? shaped.unsent ?? others.unsent;
  const otherwise =
    unsent === undefined
      ? passed(`${shapes.length} declared shapes are made, each under the ceiling`, {
          shapes: shapes.map(({ value }) => value),
        })
      : toUnsentFinding(
          unsent,
          `${shaped.parts.length} of ${shapes.length} shapes were tried: ${unsent.message}`,
        );
  return chooseWorst(parts, otherwise);
}

function shapeFinding(
  deployment: Deployment,
  { parameter, value, format, probe }: ShapeProbe,
  seen: Observation,
): Finding | undefined {
  const { status } = seen;
  if (status !== 200) return failed(`${parameter} ${value} is answered with ${status}`, { status });
  const answer = readImages(seen);
  // C2 reports an answer that cannot be read.
  if (answer === undefined) return undefined;
  const asked = parseShape(parameter, value);
  const made = answer.sizes.slice(0, imageCount(probe));
  const other = asked && made.find((size) => size !== undefined && !hasShape(size, asked));
  if (asked !== undefined && other !== undefined) {
    const { width, height } = other;
    const message = `an image of ${width}x${height} where ${parameter} ${value} was asked for`;
    return failed(message, { asked: value, width, height });
  }
  const promised = FORMAT_OF[format?.toLowerCase() ?? ""];
  const otherFormat = made.find((size) => promised && size?.format !== promised)?.format;
  if (otherFormat !== undefined) {
    return failed(`an image is a ${otherFormat} where output_format ${format} was asked for`);
  }
  return costFinding(deployment, probe, seen);
}

/** The format that a value promises. Other values, such as `auto`, promise none. */
const FORMAT_OF: Readonly<Record<string, ImageSize["format"]>> = {
  png: "png",
  jpeg: "jpeg",
  jpg: "jpeg",
  webp: "webp",
};

function unusableFinding({ parameter, value }: ShapeProbe, seen: Observation): Finding | undefined {
  if (isServed(seen)) return undefined;
  const why = describeFailure(seen);
  return failed(`${parameter} ${value}: the gateway cannot use the answer: ${why}`);
}

async function sameFinding(lab: Lab, other: Observation | undefined): Promise<Finding | undefined> {
  const one = readImages(await lab.ask(imageProbes.one(lab)))?.pictures[0];
  if (one !== undefined && one === (other && readImages(other))?.pictures[0]) {
    return failed("two prompts get the same picture");
  }
  const probe = imageProbes.two(lab);
  const [a, b] = (probe && readImages(await lab.ask(probe)))?.pictures ?? [];
  return a !== undefined && a === b ? failed("the images of one answer are the same") : undefined;
}

function costFinding(deployment: Deployment, probe: Probe, seen: Observation): Finding | undefined {
  const answer = readImages(seen);
  // C2 reports a wrong number of images. It also changes the cost, so the cost is not judged.
  if (answer?.sizes.length !== imageCount(probe)) return undefined;
  const judge = deployment.billing === "reported_cost" ? reportedCostFinding : tokenCostFinding;
  return judge(deployment, probe, answer);
}

function reportedCostFinding(
  { prices, maxOutputTokens: ceiling }: Deployment,
  probe: Probe,
  { report }: ImageAnswer,
): Finding | undefined {
  const cost = parseUsdToPico(report.costUsd ?? "");
  if (cost === undefined) {
    return failed("an answer reports no cost, by which it is billed", { probe: probe.name });
  }
  if (prices === null || ceiling === undefined) return undefined;
  const images = imageCount(probe);
  const most = quoteImages(prices, { input: 0, images, ceiling });
  if (floorToMicroUsd(cost) <= most) return undefined;
  return failed("images cost more than their ceiling", {
    probe: probe.name,
    cost_usd: report.costUsd ?? null,
    ceiling_usd: formatUsd(most),
  });
}

function tokenCostFinding(
  { maxOutputTokens: ceiling }: Deployment,
  probe: Probe,
  { report }: ImageAnswer,
): Finding | undefined {
  const tokens = report.usage?.completion;
  if (tokens === undefined || ceiling === undefined) return undefined;
  const most = imageCount(probe) * ceiling;
  if (tokens <= most) return undefined;
  return failed("images are billed more tokens than their ceiling", {
    probe: probe.name,
    tokens,
    ceiling: most,
  });
}
