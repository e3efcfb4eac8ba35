import { createHash } from "node:crypto";

import { parseUsd } from "../core/index.ts";

/** Access that a change closed: which key, connection or organization, and how. */
export type AccessClosing =
  | { readonly kind: "key" | "connection"; readonly id: string }
  /** A monthly cap in micro-dollars. */
  | { readonly kind: "key_cap" | "org_cap"; readonly id: string; readonly cap: string }
  | {
      readonly kind: "hold";
      readonly id: string;
      readonly family: string;
      readonly state: string;
      readonly reason: string;
      readonly until_at: string | null;
    };

/** One line of an exported change log, as far as it is read here. */
interface ExportedLine {
  readonly action: string;
  readonly target: string;
  /** What it was afterwards, or, of what is gone, before. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export type ChangesOutcome =
  | {
      readonly kind: "read";
      readonly closings: readonly AccessClosing[];
      readonly changes: number;
    }
  | { readonly kind: "unreadable"; readonly problem: string };

const NO_HASH = "0".repeat(64);
const HASH_MEMBER = /,"hash":"([0-9a-f]{64})"(?=[,}])/;

/**
 * What an exported change log says was closed, each by its last change: a cap that was lowered and
 * raised again counts as it was in the end. Its lines are chained by SHA-256; a line that is not
 * the next one, or was changed, makes the whole file unreadable.
 */
export function readLostChanges(text: string): ChangesOutcome {
  const closings = new Map<string, AccessClosing | undefined>();
  let prev = NO_HASH;
  let changes = 0;
  let isSealed = false;
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const hash = HASH_MEMBER.exec(line)?.[1];
    const document = parsed(line);
    if (document === undefined || hash === undefined) {
      return {
        kind: "unreadable",
        problem: `line ${at + 1} is not a line of an exported change log`,
      };
    }
    // The last line also has a signature, which `changes verify` proves.
    isSealed = document["sealed"] === true;
    const isWhole = isSealed || sha256(hashedText(line)) === hash;
    if (document["prev"] !== prev || !isWhole) {
      return { kind: "unreadable", problem: `line ${at + 1} does not follow the line before it` };
    }
    prev = hash;
    if (isSealed) continue;
    changes += 1;
    const change = exportedLine(document);
    const named = change && subjectOf(change);
    if (change !== undefined && named !== undefined) closings.set(named, closingOf(change));
  }
  if (!isSealed) return { kind: "unreadable", problem: "it ends before its seal" };
  const found = [...closings.values()].filter((closing) => closing !== undefined);
  return { kind: "read", closings: found, changes };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A line without its last member, the hash. */
function hashedText(line: string): string {
  const at = HASH_MEMBER.exec(line)?.index ?? line.length;
  return `${line.slice(0, at)}}`;
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function exportedLine(document: Readonly<Record<string, unknown>>): ExportedLine | undefined {
  const { action, target, before, after } = document;
  if (typeof action !== "string" || typeof target !== "string") return undefined;
  return { action, target, facts: isRecord(after) ? after : isRecord(before) ? before : {} };
}

/** What a change is about: of several changes of it the last one counts. */
function subjectOf({ action, target, facts }: ExportedLine): string | undefined {
  switch (action) {
    case "key.disable":
    case "key.cap":
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
function closingOf({ action, target: id, facts }: ExportedLine): AccessClosing | undefined {
  switch (action) {
    case "key.disable":
      return { kind: "key", id };
    case "connection.disable":
      return { kind: "connection", id };
    case "key.cap":
    case "org.cap": {
      const cap = parseUsd(textOf(facts["cap_usd"]));
      if (cap === undefined || cap <= 0n) return undefined;
      return { kind: action === "key.cap" ? "key_cap" : "org_cap", id, cap: cap.toString() };
    }
    case "hold.place":
      return {
        kind: "hold",
        id,
        family: textOf(facts["kind"]),
        state: textOf(facts["state"]),
        reason: textOf(facts["reason"]),
        until_at: typeof facts["until"] === "string" ? facts["until"] : null,
      };
    default:
      return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
