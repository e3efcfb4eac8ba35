import { instant } from "../../kernel/index.ts";
import type { ReportFilter } from "../../gateway/index.ts";
import type { UsageFilters } from "./contract.ts";

const DAY_MS = 86_400_000;
const DAY_CHARS = "2026-01-01".length;
const FILTER_CHARS_MAX = 40;

/**
 * The name of a file of requests, with its time range and its filters: files of several views do
 * not overwrite each other. Whole days are dates, other ranges have the time of day in UTC.
 */
export function fileNameOf(
  { fromMs, toMs }: Pick<ReportFilter, "fromMs" | "toMs">,
  {
    model,
    provider,
    key,
    tag,
    status,
  }: Pick<UsageFilters, "model" | "provider" | "key" | "tag" | "status">,
): string {
  const filters = [model, provider, key, tag, status].flatMap((text) => text ?? []);
  return ["requests", spanName(fromMs, toMs), ...filters.map(wordOf)].join("-").concat(".csv");
}

function spanName(fromMs: number, toMs: number): string {
  const isWhole = fromMs % DAY_MS === 0 && toMs % DAY_MS === 0;
  if (!isWhole) return `${minuteName(fromMs)}-to-${minuteName(toMs)}`;
  const from = instant(fromMs).slice(0, DAY_CHARS);
  const to = instant(toMs - 1).slice(0, DAY_CHARS);
  return from === to ? from : `${from}-to-${to}`;
}

/** `"2026-11-24T1030"`. */
function minuteName(ms: number): string {
  return instant(ms).slice(0, "2026-01-01T00:00".length).replace(":", "");
}

/** Only what every file system takes in a name. */
function wordOf(text: string): string {
  const word = text.replaceAll(/[^A-Za-z0-9]+/g, "-").slice(0, FILTER_CHARS_MAX);
  return word.replaceAll(/^-|-$/g, "");
}
