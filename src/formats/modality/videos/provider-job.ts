import type { PicoUsd } from "../../../kernel/index.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import type { ParsedVideoRequest } from "./parse-request.ts";

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

/** What a provider says of its job, in one form whatever its dialect. */
export interface ProviderJob {
  readonly id: string | undefined;
  readonly state: ProviderJobState;
  /** 0 to 100. */
  readonly progress: number | undefined;
  /** What it reports to have cost; read from the raw text. */
  readonly costPicoUsd: PicoUsd | undefined;
  readonly expiresAtMs: number | undefined;
  /** The model's name as reported, whatever was reported. */
  readonly model: unknown;
}

/** The bridge of an accept call: besides carrying nothing to the client it has read the job. */
export interface VideoAcceptBridge extends AnswerBridge {
  /** Set exactly when `state` is `complete`; it has an id. */
  readonly job: ProviderJob | undefined;
  /** What was asked for: the seconds that were written upstream. */
  readonly seconds: number;
  readonly options: ParsedVideoRequest["options"];
}
