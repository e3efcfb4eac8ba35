import {
  asNumber,
  asObject,
  asText,
  membersOf,
  parseForeignInstant,
  parseUsdToPico,
  type PicoUsd,
  textOf,
} from "../../../kernel/index.ts";
import { extractErrorText } from "../../wire/failure/provider-message.ts";
import { contentPolicyWording, matchesWording } from "../../wire/failure/wording.ts";
import { type AnswerJson, decodeBody, parseObject } from "../../wire/neutral/chat-answer.ts";
import { type Fields, readReportedCost } from "../../wire/neutral/usage-report.ts";

export function readJob(body: Buffer): ProviderJob | undefined {
  const record = parseObject(decodeBody(body));
  return record && readJobRecord(record);
}

/** Reads a provider's job record; undefined if it has neither an id nor a state. */
export function readJobRecord({ text, value }: AnswerJson): ProviderJob | undefined {
  const id = findJobId(value);
  const word = textOf(value["status"]) || textOf(value["state"]);
  if (id === undefined && word === "") return undefined;
  const usd = readReportedCost(text);
  return {
    id,
    state: judgeState(value, word),
    progress: parsePercent(value["progress"]),
    costPicoUsd: usd === undefined ? undefined : parseUsdToPico(usd),
    expiresAtMs: parseInstant(value["expires_at"]),
    model: asText(value["model"]),
  };
}

/** `id` is tried first, because some providers also send the id of the request. */
const ID_NAMES = ["id", "request_id", "job_id", "task_id"] as const;

function findJobId(record: Fields): string | undefined {
  for (const name of ID_NAMES) {
    const value = record[name];
    const id = Number.isSafeInteger(value) ? String(value) : textOf(value);
    if (/^[\x21-\x7e]{1,512}$/.test(id) && id !== "." && id !== "..") return id;
  }
  return undefined;
}

function judgeState(record: Fields, word: string): ProviderJobState {
  const state = toState(word);
  if (state !== "completed" && state !== "failed") return state;
  if (isRefused(record, state)) return "refused";
  return state === "completed" && !showsFile(record, word) ? "failed" : state;
}

/** True if the file's flag, or the error's code or message, says that the content was refused. */
function isRefused(record: Fields, state: "completed" | "failed"): boolean {
  const flags = [record, asObject(record["video"])].map((each) => each?.["respect_moderation"]);
  if (flags.includes(false)) return true;
  if (state === "completed") return false;
  const errorText = extractErrorText(record);
  // Some providers write a code before their sentence: `content_policy_violation: …`.
  const leading = /^([a-z_]+):/i.exec(textOf(record["error"]).trim())?.[1]?.toLowerCase() ?? "";
  return (
    errorText.flagged ||
    matchesWording(errorText, contentPolicyWording) ||
    contentPolicyWording.codes.includes(leading)
  );
}

const FILE_NAMES = ["video", "videos", "video_url", "unsigned_urls", "urls", "url", "output"];

/**
 * A completed job whose record has no field for a file counts as having a file, unless its status
 * is `done`, which alone proves nothing.
 */
function showsFile(record: Fields, word: string): boolean {
  const places = FILE_NAMES.map((name) => record[name]).filter((each) => each !== undefined);
  return places.length === 0 ? word.trim().toLowerCase() !== "done" : places.some(holdsText);
}

function holdsText(value: unknown): boolean {
  if (textOf(value) !== "") return true;
  const members = membersOf(value) ?? [];
  return members.some(([, inner]) => (Array.isArray(value) ? inner : textOf(inner) !== ""));
}

function parsePercent(value: unknown): number | undefined {
  const digits = /^(\d{1,3})(?:\.\d+)?%?$/.exec(textOf(value))?.[1];
  const percent = digits === undefined ? (asNumber(value) ?? Number.NaN) : Number(digits);
  return Number.isFinite(percent) ? Math.max(0, Math.min(100, Math.floor(percent))) : undefined;
}

const MILLISECONDS_FROM = 100_000_000_000;

/** Converts seconds or milliseconds since 1970, or a date as text, to milliseconds. */
function parseInstant(value: unknown): number | undefined {
  const text = asText(value);
  const since = asNumber(value) ?? 0;
  if (text === undefined && since <= 0) return undefined;
  const sinceMs = Math.round(since < MILLISECONDS_FROM ? since * 1000 : since);
  const atMs = text === undefined ? sinceMs : parseForeignInstant(text);
  return Number.isFinite(atMs) ? atMs : undefined;
}

const WORDS_OF_STATE: readonly (readonly [ProviderJobState, readonly string[]])[] = [
  ["queued", ["queued", "pending", "submitted", "created", "accepted"]],
  ["in_progress", ["in_progress", "processing", "running", "generating"]],
  ["completed", ["completed", "complete", "succeeded", "success", "done"]],
  ["failed", ["failed", "failure", "error"]],
  ["cancelled", ["cancelled", "canceled"]],
  ["expired", ["expired"]],
];

/** Accepts a status in any letter case, and with blanks or dashes, such as `IN-PROGRESS`. */
function toState(word: string): ProviderJobState {
  const plain = word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");
  return WORDS_OF_STATE.find(([, words]) => words.includes(plain))?.[0] ?? "unknown";
}

export type ProviderJobState =
  | "queued"
  | "in_progress"
  | "completed"
  | "failed"
  /** The provider's moderation refused the content. */
  | "refused"
  | "cancelled"
  | "expired"
  | "unknown";

export interface ProviderJob {
  readonly id: string | undefined;
  readonly state: ProviderJobState;
  /** Percent, 0 to 100. */
  readonly progress: number | undefined;
  /** Parsed from the raw text, because a JSON number could lose digits. */
  readonly costPicoUsd: PicoUsd | undefined;
  readonly expiresAtMs: number | undefined;
  readonly model: string | undefined;
}
