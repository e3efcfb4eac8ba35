import type { Deployment } from "../../../catalog/index.ts";
import { asObject, defined, type Usage, ZERO_USAGE } from "../../../kernel/index.ts";
import {
  asCount,
  type Fields,
  inputOutputFlaw,
  readInputOutput,
  readReportedCost,
} from "../../wire/neutral/usage-report.ts";
import type { ParsedImageRequest } from "./parse-request.ts";

export interface ImageReport {
  /** Undefined if the provider reported no token counts; the gateway does not estimate any. */
  readonly usage: Usage | undefined;
  readonly costUsd: string | undefined;
  readonly flaw?: string;
  /** The members of the client's `usage` object with token counts, each as JSON text. */
  readonly counts: readonly string[];
}

/**
 * Reads `input_tokens` and `output_tokens`, or `prompt_tokens` and `completion_tokens`. The cost is
 * read from `text`, the JSON of `answer`, so that no digit is lost.
 */
export function readImageReport(
  answer: Readonly<Record<string, unknown>>,
  text: string,
): ImageReport {
  const reported = asObject(answer["usage"]) ?? {};
  const costUsd = readReportedCost(text);
  const read = readInputOutput(reported);
  if (read === undefined) {
    const flaw = inputOutputFlaw(reported);
    return { usage: undefined, costUsd, ...defined({ flaw }), counts: [] };
  }
  const { usage } = read;
  const prompt = usage.prompt + usage.cachedPrompt;
  const total = asCount(reported["total_tokens"]) ?? prompt + usage.completion;
  const input = findDetails(reported, "input_tokens_details", "prompt_tokens_details");
  const output = findDetails(reported, "output_tokens_details", "completion_tokens_details");
  return {
    ...read,
    costUsd,
    counts: [
      `"input_tokens":${prompt}`,
      `"output_tokens":${usage.completion}`,
      `"total_tokens":${total}`,
      ...detailsText("input_tokens_details", input),
      ...detailsText("output_tokens_details", output),
    ],
  };
}

/** Drops a usage of 0 output tokens if tokens are billed: a proxy must have filled in the 0. */
export function withoutEmptyUsage(
  report: ImageReport,
  { billing }: Pick<Deployment, "billing">,
): ImageReport {
  if (billing !== "token" || report.usage?.completion !== 0) return report;
  return { ...report, usage: undefined, counts: [] };
}

export function declaredUsage(
  request: ParsedImageRequest,
  { imageTokens, supportedParameters }: Deployment,
): Usage | undefined {
  const asked = (name: "size" | "quality"): string | undefined => {
    const descriptor = supportedParameters.get(name);
    const usual = descriptor?.type === "enum" ? descriptor.default : undefined;
    return request.readText(name) || usual;
  };
  const [size, quality] = [asked("size"), asked("quality")];
  const fitting = imageTokens?.find(
    (each) =>
      (each.size === undefined || each.size === size) &&
      (each.quality === undefined || each.quality === quality),
  );
  if (fitting === undefined) return undefined;
  return { ...ZERO_USAGE, completion: fitting.tokens * request.count };
}

function findDetails(usage: Fields, name: string, otherName: string): Fields | undefined {
  return asObject(usage[name]) ?? asObject(usage[otherName]);
}

const DETAILS = ["text_tokens", "image_tokens", "cached_tokens"];

function detailsText(name: string, details: Fields | undefined): string[] {
  const counts = DETAILS.flatMap((detail) => {
    const count = asCount(details?.[detail]);
    return count === undefined ? [] : [`"${detail}":${count}`];
  });
  return counts.length === 0 ? [] : [`"${name}":{${counts.join(",")}}`];
}
