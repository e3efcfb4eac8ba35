import {
  asObject,
  defined,
  findPath,
  outputTokensTotal,
  type Usage,
  ZERO_USAGE,
} from "../../../kernel/index.ts";
import { withNeeded } from "../neutral/relayed-text.ts";
import { asCount, flawedCount, type UsageReport } from "../neutral/usage-report.ts";

export interface ReportedCounts {
  readonly input?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** The parts of `cacheWrite` that are kept for five minutes and for an hour. */
  readonly cacheWrite5m?: number;
  readonly cacheWrite1h?: number;
  readonly output?: number;
  readonly thinking?: number;
  readonly flaw?: string;
}

/**
 * Adds a later usage object of the same answer. The last count wins, but a 0 replaces no output
 * count, and a prompt count only if the same object has another one above 0: some relays end with
 * zeros for what was reported before.
 */
export function mergeCounts(earlier: ReportedCounts, reported: unknown): ReportedCounts {
  const fields = asObject(reported);
  if (fields === undefined) return earlier;
  const thinking = asObject(fields["output_tokens_details"])?.["thinking_tokens"];
  const kept = asObject(fields["cache_creation"]) ?? {};
  const prompt = {
    input: asCount(fields["input_tokens"]),
    cacheRead: asCount(fields["cache_read_input_tokens"]),
    cacheWrite: asCount(fields["cache_creation_input_tokens"]),
    cacheWrite5m: asCount(kept["ephemeral_5m_input_tokens"]),
    cacheWrite1h: asCount(kept["ephemeral_1h_input_tokens"]),
  };
  const output = asCount(fields["output_tokens"]);
  const counted = defined(prompt);
  const isPromptReported = Object.values(counted).some((count) => count > 0);
  return {
    ...(isPromptReported ? { ...earlier, ...counted } : { ...counted, ...earlier }),
    ...defined({
      output: output === 0 ? (earlier.output ?? 0) : output,
      thinking: asCount(thinking) || undefined,
      flaw: flawedCount(fields, COUNTS) ?? flawedCount(kept, KEPT_COUNTS),
    }),
  };
}

const COUNTS = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
];

const KEPT_COUNTS = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];

/** Undefined while neither token counts nor a cost were reported. */
export function toUsageReport(
  counts: ReportedCounts,
  cost: string | undefined,
): UsageReport | undefined {
  const usage = toUsage(counts);
  if (usage === undefined) return cost === undefined ? undefined : { reportedCostUsd: cost };
  return { usage, ...defined({ reportedCostUsd: cost, flaw: findFlaw(counts) }) };
}

function findFlaw(counts: ReportedCounts): string | undefined {
  const { output, thinking, cacheWrite, cacheWrite1h = 0, flaw } = counts;
  if (flaw !== undefined) return flaw;
  if (cacheWrite1h > (cacheWrite ?? cacheWrite1h)) {
    return "more cache writes of an hour than cache writes";
  }
  const isMore = (thinking ?? 0) > (output ?? thinking ?? 0);
  return isMore ? "more thinking tokens than output tokens" : undefined;
}

/**
 * Undefined while neither input nor output was reported. Hour-long cache writes are capped at the
 * total of cache writes; a missing total is the sum of 5-minute and hour-long writes.
 */
export function toUsage(counts: ReportedCounts): Usage | undefined {
  const { input, cacheRead, cacheWrite5m = 0, cacheWrite1h = 0, output, thinking } = counts;
  if (input === undefined && output === undefined) return undefined;
  const outputTotal = output ?? 0;
  const reasoning = Math.min(outputTotal, thinking ?? 0);
  const cacheWrite = counts.cacheWrite ?? cacheWrite5m + cacheWrite1h;
  const hour = Math.min(cacheWrite, cacheWrite1h);
  return {
    prompt: input ?? 0,
    cachedPrompt: cacheRead ?? 0,
    cacheWrite,
    ...(hour > 0 && { cacheWrite1h: hour }),
    completion: outputTotal - reasoning,
    internalReasoning: reasoning,
  };
}

/** Writes all fields of the official client's type. `costUsd` is number text, printed unchanged. */
export function usageJson(usage: Usage | undefined, costUsd?: string): string {
  const known = usage ?? ZERO_USAGE;
  const thinking = known.internalReasoning;
  return (
    `{"input_tokens":${known.prompt},` +
    `"cache_creation_input_tokens":${known.cacheWrite},` +
    `"cache_read_input_tokens":${known.cachedPrompt},` +
    renderCacheWrites(known) +
    `"output_tokens":${outputTokensTotal(known)},` +
    `"output_tokens_details":${thinking > 0 ? `{"thinking_tokens":${thinking}}` : "null"},` +
    `"inference_geo":null,"server_tool_use":null,"service_tier":null,"speed":null` +
    (costUsd === undefined ? "}" : `,"cost":${costUsd}}`)
  );
}

/** Adds missing counts, which clients need, to the object at `path`, whose value is `reported`. */
export function withCounts(
  text: string,
  reported: unknown,
  path: readonly string[],
  usage: Usage = ZERO_USAGE,
): string {
  const fields = asObject(reported);
  if (fields === undefined) return text;
  return withNeeded(text, (made) => findPath(made, ...path), fields, {
    input_tokens: String(usage.prompt),
    output_tokens: String(outputTokensTotal(usage)),
  });
}

function renderCacheWrites({ cacheWrite, cacheWrite1h = 0 }: Usage): string {
  if (cacheWrite1h === 0) return '"cache_creation":null,';
  return (
    `"cache_creation":{"ephemeral_5m_input_tokens":${cacheWrite - cacheWrite1h},` +
    `"ephemeral_1h_input_tokens":${cacheWrite1h}},`
  );
}
