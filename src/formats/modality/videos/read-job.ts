import { asObject, parseUsdToPico, type PicoUsd, textOf, tryParse } from "../../../kernel/index.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import { extractErrorText } from "../../wire/failure/provider-message.ts";
import { contentPolicyWording, matchesWording } from "../../wire/failure/wording.ts";
import type { AnswerJson } from "../../wire/neutral/chat-answer.ts";
import { readReportedCost } from "../../wire/neutral/usage-report.ts";
import type { ParsedVideoRequest } from "./parse-request.ts";

/** Parses a provider's job record in any dialect; undefined if the body is not one. */
export function readJob(body: Buffer): ProviderJob | undefined {
  const record = parseRecord(body);
  return record === undefined ? undefined : readJobRecord(record);
}

/** The body as one JSON object; undefined when it is none. */
export function parseRecord(body: Buffer): AnswerJson | undefined {
  const decoded = body.toString("utf8");
  const text = decoded.charCodeAt(0) === BYTE_ORDER_MARK ? decoded.slice(1) : decoded;
  const value = asObject(tryParse(text)?.value);
  return value === undefined ? undefined : { text, value };
}

/** Undefined if it has neither an id nor a state. */
export function readJobRecord({ text, value }: AnswerJson): ProviderJob | undefined {
  const id = findJobId(value);
  const word = textOf(value["status"]) || textOf(value["state"]);
  if (id === undefined && word === "") return undefined;
  return {
    id,
    state: judgeState(value, word),
    progress: parsePercent(value["progress"]),
    costPicoUsd: parseCost(text),
    expiresAtMs: parseInstant(value["expires_at"]),
    model: value["model"],
  };
}

type Fields = Readonly<Record<string, unknown>>;

const BYTE_ORDER_MARK = 0xfeff;

/** Most specific first, because some providers also answer with the id of the request. */
const ID_NAMES = ["id", "request_id", "job_id", "task_id"] as const;

function findJobId(record: Fields): string | undefined {
  for (const name of ID_NAMES) {
    const value = record[name];
    const id = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
    if (typeof id === "string" && isUsableId(id)) return id;
  }
  return undefined;
}

/** It becomes a segment of a path: printable, of sane length, and no step up or on the spot. */
function isUsableId(id: string): boolean {
  return /^[\x21-\x7e]{1,512}$/.test(id) && id !== "." && id !== "..";
}

function judgeState(record: Fields, word: string): ProviderJobState {
  const state = stateOfWord(word);
  if (state !== "completed" && state !== "failed") return state;
  if (isRefused(record, state)) return "refused";
  return state === "completed" && !showsFile(record, word) ? "failed" : state;
}

/**
 * Some providers report it by a flag beside the file, others by the code or the message of the
 * error.
 */
function isRefused(record: Fields, state: "completed" | "failed"): boolean {
  const flags = [record, asObject(record["video"])].map((each) => each?.["respect_moderation"]);
  if (flags.includes(false)) return true;
  if (state === "completed") return false;
  const errorText = extractErrorText(record);
  return (
    errorText.flagged ||
    matchesWording(errorText, contentPolicyWording) ||
    contentPolicyWording.codes.includes(leadingCode(record["error"]))
  );
}

/** Relays write the code in front of their sentence: `content_policy_violation: …`. */
function leadingCode(error: unknown): string {
  return /^([a-z_]+):/i.exec(textOf(error).trim())?.[1]?.toLowerCase() ?? "";
}

/** Where records show their files, in any dialect. */
const FILE_NAMES = ["video", "videos", "video_url", "unsigned_urls", "urls", "url", "output"];

/** A record that has a place for its file and shows none there has none. */
function showsFile(record: Fields, word: string): boolean {
  const places = FILE_NAMES.map((name) => record[name]).filter((each) => each !== undefined);
  return places.length === 0 ? !needsShownFile(word) : places.some(holdsText);
}

function holdsText(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(
    (inner) => (typeof inner === "string" && inner !== "") || (Array.isArray(value) && inner),
  );
}

function parsePercent(value: unknown): number | undefined {
  const digits = typeof value === "string" ? /^(\d{1,3})(?:\.\d+)?%?$/.exec(value)?.[1] : undefined;
  const percent = digits === undefined ? value : Number(digits);
  if (typeof percent !== "number" || !Number.isFinite(percent)) return undefined;
  return Math.max(0, Math.min(100, Math.floor(percent)));
}

function parseCost(text: string): PicoUsd | undefined {
  const usd = readReportedCost(text);
  return usd === undefined ? undefined : parseUsdToPico(usd);
}

const MILLISECONDS_FROM = 100_000_000_000;

/** Seconds or milliseconds since 1970, or a date as text. */
function parseInstant(value: unknown): number | undefined {
  if (typeof value === "string") {
    const atMs = Date.parse(value);
    return Number.isNaN(atMs) ? undefined : atMs;
  }
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) return undefined;
  return Math.round(value < MILLISECONDS_FROM ? value * 1000 : value);
}

/** The providers' words for the states of a job, in lower case. */
const STATE_OF_WORD: Readonly<Record<string, ProviderJobState>> = {
  queued: "queued",
  pending: "queued",
  submitted: "queued",
  created: "queued",
  accepted: "queued",
  in_progress: "in_progress",
  processing: "in_progress",
  running: "in_progress",
  generating: "in_progress",
  completed: "completed",
  complete: "completed",
  succeeded: "completed",
  success: "completed",
  done: "completed",
  failed: "failed",
  failure: "failed",
  error: "failed",
  cancelled: "cancelled",
  canceled: "cancelled",
  expired: "expired",
};

/** The state that a provider's word means, however it is spelled: `IN_PROGRESS`, `in-progress`. */
function stateOfWord(word: string): ProviderJobState {
  const plain = word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");
  return Object.hasOwn(STATE_OF_WORD, plain) ? (STATE_OF_WORD[plain] ?? "unknown") : "unknown";
}

/** The word `done` does not prove that there is a file, so the record has to show one. */
function needsShownFile(word: string): boolean {
  return word.trim().toLowerCase() === "done";
}

export type ProviderJobState =
  | "queued"
  | "in_progress"
  | "completed"
  | "failed"
  /** Refused by the provider's moderation. */
  | "refused"
  | "cancelled"
  | "expired"
  /** A state that is not in the table. */
  | "unknown";

/** A provider's report about its job, in one form whatever its dialect. */
export interface ProviderJob {
  readonly id: string | undefined;
  readonly state: ProviderJobState;
  /** 0 to 100. */
  readonly progress: number | undefined;
  /** The cost that it reports; read from the raw text. */
  readonly costPicoUsd: PicoUsd | undefined;
  readonly expiresAtMs: number | undefined;
  /** The model's name as reported, whatever was reported. */
  readonly model: unknown;
}

/** The bridge of an accept call: besides carrying nothing to the client it has read the job. */
export interface VideoAcceptBridge extends AnswerBridge {
  /** Set exactly when `state` is `complete`; it has an id. */
  readonly job: ProviderJob | undefined;
  /** The seconds that were written upstream. */
  readonly seconds: number;
  readonly options: ParsedVideoRequest["options"];
}
