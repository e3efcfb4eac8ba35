import type { ProviderJobState } from "./provider-job.ts";

/** What providers call the states of a job, in lower case. */
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
export function stateOfWord(word: string): ProviderJobState {
  const plain = word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");
  return Object.hasOwn(STATE_OF_WORD, plain) ? (STATE_OF_WORD[plain] ?? "unknown") : "unknown";
}

/** The one word that says nothing of a file: its record has to show one. */
export function needsShownFile(word: string): boolean {
  return word.trim().toLowerCase() === "done";
}
