import type { Kept } from "../browser-store.ts";
import { member, text, type JsonAnswer } from "../gateway.ts";

export interface Picture {
  readonly dataUrl: string;
  readonly fileName: string;
}

export function readPictures(answer: unknown, requestId: string | undefined): readonly Picture[] {
  const data = member(answer, "data");
  if (!Array.isArray(data)) return [];
  return data.flatMap((each: unknown, at) => {
    const base64 = text(member(each, "b64_json"));
    if (base64 === undefined) return [];
    const format = detectFormat(base64);
    const fileName = `${requestId ?? "image"}-${at + 1}.${format === "jpeg" ? "jpg" : format}`;
    return [{ dataUrl: `data:image/${format};base64,${base64}`, fileName }];
  });
}

/** Detects the format of an image from its first bytes, because not every answer states it. */
function detectFormat(base64: string): "png" | "jpeg" | "webp" {
  if (base64.startsWith("/9j/")) return "jpeg";
  return base64.startsWith("UklGR") ? "webp" : "png";
}

export interface VideoJob extends Kept {
  readonly prompt: string;
  readonly modelName: string;
  readonly status: "queued" | "in_progress" | "completed" | "failed";
  /** Percent, from 0 to 100. */
  readonly progress: number;
  readonly seconds: string | undefined;
  readonly createdAtMs: number;
  /** When the file expires; null if the provider does not say. */
  readonly expiresAtMs: number | null;
  readonly errorCode: string | undefined;
  readonly costUsd: string | undefined;
  readonly requestId: string | undefined;
}

type Reported = Omit<VideoJob, "orgId" | "updatedAtMs" | "prompt" | "modelName">;

export function readJob({ json, costUsd }: JsonAnswer): Reported | undefined {
  const id = text(member(json, "id"));
  const status = STATES.find((each) => each === member(json, "status"));
  if (id === undefined || status === undefined) return undefined;
  const expiresAt = whole(member(json, "expires_at"));
  return {
    id,
    status,
    progress: whole(member(json, "progress")) ?? 0,
    seconds: text(member(json, "seconds")),
    createdAtMs: (whole(member(json, "created_at")) ?? 0) * 1000,
    expiresAtMs: expiresAt === undefined ? null : expiresAt * 1000,
    errorCode: text(member(member(json, "error"), "code")),
    costUsd,
    requestId: text(member(json, "request_id")),
  };
}

const STATES = ["queued", "in_progress", "completed", "failed"] as const;

function whole(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? Math.floor(value) : undefined;
}

export function isRunning({ status }: Pick<VideoJob, "status">): boolean {
  return status === "queued" || status === "in_progress";
}

const FIRST_WAIT_MS = 3_000;
const WAIT_MS_MAX = 30_000;

/**
 * Milliseconds until the next poll. They grow from three seconds, because the gateway polls the
 * provider no more often than that by default.
 */
export function chooseWaitMs(polls: number): number {
  return Math.min(WAIT_MS_MAX, Math.round(FIRST_WAIT_MS * 1.5 ** polls));
}

export function failureMessage(code: string | undefined): string {
  return (
    FAILURES[code ?? ""] ??
    "No video was generated. Nothing was charged. Try again or change the prompt."
  );
}

const FAILURES: Readonly<Record<string, string>> = {
  video_generation_failed:
    "The provider could not generate this video. Nothing was charged. Try again or change the prompt.",
  content_policy_violation:
    "The provider rejected the content of this video. Nothing was charged. Change the prompt.",
  video_cancelled: "The provider cancelled this video. Nothing was charged; send it again.",
  video_expired: "The provider no longer has this video. Nothing was charged; send it again.",
  video_timeout: "This video was not ready in time. Nothing was charged; send it again.",
};
