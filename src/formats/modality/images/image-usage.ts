import type { Deployment } from "../../../catalog/index.ts";
import { type Usage, asObject } from "../../../kernel/index.ts";
import {
  asCount,
  firstCount,
  inputOutputFlaw,
  readReportedCost,
} from "../../wire/neutral/usage-report.ts";
import type { ParsedImageRequest } from "./parse-request.ts";

/** A provider's report about its images. */
export interface ImageReport {
  /** Undefined if it counted no tokens; a guess is never billed. */
  readonly usage: Usage | undefined;
  /** Its own cost in USD as decimal text. */
  readonly costUsd: string | undefined;
  /** Why the counts cannot be right. */
  readonly flaw?: string;
  /** The members of the client's `usage`: the counts as reported. */
  readonly counts: readonly string[];
}

/** Reads the usage of an answer in either naming; `text` is the JSON of `answer`. */
export function readImageReport(
  answer: Readonly<Record<string, unknown>>,
  text: string,
): ImageReport {
  const usage = asObject(answer["usage"]) ?? {};
  const input = firstCount(usage["input_tokens"], usage["prompt_tokens"]);
  const output = firstCount(usage["output_tokens"], usage["completion_tokens"]);
  const inputDetails = findDetails(usage, "input_tokens_details", "prompt_tokens_details");
  const outputDetails = findDetails(usage, "output_tokens_details", "completion_tokens_details");
  const costUsd = readReportedCost(text);
  const flaw = inputOutputFlaw(usage);
  const flawed = flaw === undefined ? {} : { flaw };
  if (input === undefined && output === undefined) {
    return { usage: undefined, costUsd, ...flawed, counts: [] };
  }
  const prompt = input ?? 0;
  const completion = output ?? 0;
  const cachedPrompt = Math.min(prompt, asCount(inputDetails?.["cached_tokens"]) ?? 0);
  return {
    usage: {
      prompt: prompt - cachedPrompt,
      cachedPrompt,
      cacheWrite: 0,
      completion,
      internalReasoning: 0,
    },
    costUsd,
    ...flawed,
    counts: [
      `"input_tokens":${prompt}`,
      `"output_tokens":${completion}`,
      `"total_tokens":${asCount(usage["total_tokens"]) ?? prompt + completion}`,
      ...detailsText("input_tokens_details", inputDetails),
      ...detailsText("output_tokens_details", outputDetails),
    ],
  };
}

/** The usage that the listing declares for these images; undefined if none fits. */
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
  const completion = fitting.tokens * request.count;
  return { prompt: 0, cachedPrompt: 0, cacheWrite: 0, completion, internalReasoning: 0 };
}

type Fields = Readonly<Record<string, unknown>>;

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
