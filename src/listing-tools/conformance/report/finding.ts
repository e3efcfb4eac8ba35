export const CHECK_IDS = [
  "C1",
  "C2",
  "C3",
  "C4",
  "C5",
  "C6",
  "C7",
  "C8",
  "C9",
  "C10",
  "C11",
  "C12",
] as const;

export type CheckId = (typeof CHECK_IDS)[number];

/**
 * - `pass`, `warn`, `fail`: what the provider did was seen and judged.
 * - `skip`: the check does not apply to this listing, or its probes were not sent (budget, abort).
 * - `error`: no answer came that can be judged, even after retries (429, network, this program).
 */
export type CheckStatus = "pass" | "warn" | "fail" | "skip" | "error";

/** A short value. It contains no key, no prompt, and no long text of a provider. */
export type EvidenceValue = string | number | boolean | null | readonly EvidenceValue[];
export type Evidence = Readonly<Record<string, EvidenceValue>>;

export interface Finding {
  readonly status: CheckStatus;
  readonly message: string;
  readonly evidence?: Evidence;
  /** True if the endpoint gives no usable answer. The other checks are then skipped. */
  readonly isUnreachable?: boolean;
  /**
   * True if a part is not known: the budget was used up, the run ended, probes timed out, or the
   * provider refused the texts by which its bill is measured.
   */
  readonly isUnasked?: boolean;
}

export interface CheckReport extends Finding {
  readonly id: CheckId;
  readonly title: string;
  readonly durationMs: number;
}

type Judge = (message: string, evidence?: Evidence) => Finding;

export const passed: Judge = judgeAs("pass");
export const warned: Judge = judgeAs("warn");
export const failed: Judge = judgeAs("fail");
export const skipped: Judge = judgeAs("skip");

function judgeAs(status: CheckStatus): Judge {
  return (message, evidence) => ({ status, message, ...(evidence && { evidence }) });
}

/** The worst part that fails, has an error or warns, or `otherwise` if there is none. */
export function chooseWorst(parts: readonly (Finding | undefined)[], otherwise: Finding): Finding {
  const real = parts.filter((part) => part !== undefined);
  const worst = SEVERITY.flatMap((status) => real.filter((part) => part.status === status))[0];
  const isUnasked = [...real, otherwise].some((part) => part.isUnasked === true);
  return { ...(worst ?? otherwise), ...(isUnasked && { isUnasked }) };
}

const SEVERITY: readonly CheckStatus[] = ["fail", "error", "warn"];
