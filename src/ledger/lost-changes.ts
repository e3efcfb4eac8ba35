import type { KeyObject } from "node:crypto";

import { checkChain, type ExportedChange, type Facts, parseUsd, textOf } from "../kernel/index.ts";

/** Access that a change closed: which key, connection or organization, and how. */
export type AccessClosing =
  | { readonly kind: "key" | "connection"; readonly id: string }
  /** A cap in micro-dollars. */
  | {
      readonly kind: "key_cap" | "key_day_cap" | "key_week_cap" | "org_cap";
      readonly id: string;
      readonly cap: string;
    }
  | {
      readonly kind: "hold";
      readonly id: string;
      readonly family: string;
      readonly state: string;
      readonly reason: string;
      readonly until_at: string | null;
    };

export type ChangesOutcome =
  | {
      readonly kind: "read";
      readonly closings: readonly AccessClosing[];
      readonly changes: number;
    }
  | { readonly kind: "unreadable"; readonly problem: string };

/**
 * What an exported change log says was closed, each by its last change: a cap that was lowered
 * and raised again counts as it was in the end. A file that was edited, cut off or signed by
 * another key is unreadable, and so is one that leaves changes out.
 */
export async function readLostChanges(text: string, publicKey: KeyObject): Promise<ChangesOutcome> {
  const lines = text.trimEnd().split("\n");
  const { problems, seal, changes } = await checkChain(lines, publicKey);
  const [wrong] = problems;
  if (wrong !== undefined) {
    return { kind: "unreadable", problem: `line ${wrong.line}: ${wrong.problem}` };
  }
  if (seal === undefined || seal.org_id !== null || seal.action_prefix !== null) {
    return { kind: "unreadable", problem: "it is a part; export without --org and --action" };
  }
  const closings = new Map<string, AccessClosing | undefined>();
  for (const line of lines.slice(0, changes)) {
    // Proven above: it is what an export wrote.
    const change = lostChange(JSON.parse(line) as ExportedChange);
    const named = subjectOf(change);
    if (named !== undefined) closings.set(named, closingOf(change));
  }
  const found = [...closings.values()].filter((closing) => closing !== undefined);
  return { kind: "read", closings: found, changes };
}

interface LostChange {
  readonly action: string;
  readonly target: string;
  /** What it was afterwards, or, of what is gone, before. */
  readonly facts: Facts;
}

function lostChange({ action, target, before, after }: ExportedChange): LostChange {
  return { action, target, facts: after ?? before ?? {} };
}

/** What a change is about: of several changes of it the last one counts. */
function subjectOf({ action, target, facts }: LostChange): string | undefined {
  switch (action) {
    case "key.disable":
    case "key.cap":
    case "key.week-cap":
    case "key.day-cap":
    case "org.cap":
    case "connection.disable":
      return `${action} ${target}`;
    case "hold.place":
    case "hold.lift":
      return `hold ${target} ${textOf(facts["kind"])}`;
    default:
      return undefined;
  }
}

/** Undefined: it opens something, or leaves it as it is. */
function closingOf({ action, target: id, facts }: LostChange): AccessClosing | undefined {
  switch (action) {
    case "key.disable":
      return { kind: "key", id };
    case "connection.disable":
      return { kind: "connection", id };
    case "key.cap":
    case "key.week-cap":
    case "key.day-cap":
    case "org.cap": {
      const cap = parseUsd(textOf(facts["cap_usd"]));
      if (cap === undefined || cap <= 0n) return undefined;
      return { kind: CAP_KINDS[action], id, cap: cap.toString() };
    }
    case "hold.place":
      return {
        kind: "hold",
        id,
        family: textOf(facts["kind"]),
        state: textOf(facts["state"]),
        reason: textOf(facts["reason"]),
        until_at: textOf(facts["until"]) || null,
      };
    default:
      return undefined;
  }
}

const CAP_KINDS = {
  "key.cap": "key_cap",
  "key.week-cap": "key_week_cap",
  "key.day-cap": "key_day_cap",
  "org.cap": "org_cap",
} as const;
