import { createHash, type KeyObject, sign, verify } from "node:crypto";

import type { OrgId } from "../core/ids.ts";
import { asObject, tryParse } from "../json/json-edit.ts";
import type { Facts } from "./change-words.ts";
import type { ActorKind, RecordedChange } from "./change.ts";

/** Selects changes. An absent member excludes no change. */
export interface ChangeFilter {
  readonly orgId?: OrgId;
  readonly sinceMs?: number;
  readonly actionPrefix?: string;
}

export interface ChangePageFilter {
  readonly orgId: OrgId;
  readonly actionPrefix?: string;
  readonly by?: string;
  /** Selects only changes before this instant (exclusive), in milliseconds since 1970. */
  readonly untilMs?: number;
}

/** The first line of an export has no previous line: its `prev` field has this value. */
const NO_LINE = "0".repeat(64);
const LINE_END = /,"hash":"([0-9a-f]{64})"\}$/;
const SEAL_END = /,"hash":"([0-9a-f]{64})","signature":"([A-Za-z0-9+/=]{88})"\}$/;
const PROBLEMS_MAX = 100;

/** Yields the lines of an export, in the order of the changes. The last line is the seal. */
export async function* exportLines(
  blocks: AsyncIterable<readonly RecordedChange[]>,
  of: {
    readonly filter: ChangeFilter & { readonly sinceMs: number };
    readonly nowMs: number;
    readonly privateKey: KeyObject;
  },
): AsyncGenerator<string> {
  let prev = NO_LINE;
  let changes = 0;
  for await (const block of blocks) {
    for (const change of block) {
      const { text, hash } = hashed(toExportedLine(change, prev));
      yield `${text},"hash":"${hash}"}`;
      prev = hash;
      changes += 1;
    }
  }
  const { filter, nowMs, privateKey } = of;
  const seal: Omit<ExportSeal, "hash" | "signature"> = {
    sealed: true,
    changes,
    since: new Date(filter.sinceMs).toISOString(),
    org_id: filter.orgId ?? null,
    action_prefix: filter.actionPrefix ?? null,
    exported_at: new Date(nowMs).toISOString(),
    prev,
  };
  const { text, hash } = hashed(seal);
  const signature = sign(null, Buffer.from(hash), privateKey).toString("base64");
  yield `${text},"hash":"${hash}","signature":"${signature}"}`;
}

function toExportedLine(change: RecordedChange, prev: string): Omit<ExportedChange, "hash"> {
  const { by } = change;
  return {
    position: change.position,
    at: new Date(change.atMs).toISOString(),
    actor_kind: by.kind,
    actor_id: by.id,
    org_id: change.orgId,
    action: change.action,
    target: change.target,
    before: change.before,
    after: change.after,
    request_id: by.requestId,
    client_network: by.clientNetwork,
    prev,
  };
}

/** `text` is the JSON text without its closing brace; `hash` is the hash of the whole text. */
function hashed(fields: object): { readonly text: string; readonly hash: string } {
  const whole = JSON.stringify(fields);
  return { text: whole.slice(0, -1), hash: sha256(whole) };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export interface ChainProblem {
  readonly line: number;
  readonly problem: string;
}

export interface ChainCheck {
  readonly changes: number;
  readonly seal: ExportSeal | undefined;
  /** At most 100 problems. Empty if this key signed the export and no line was changed since. */
  readonly problems: readonly ChainProblem[];
}

/**
 * Checks an export: each line must match its own hash and contain the hash of the line before it,
 * and the last line must be a seal that is signed by this key.
 */
export async function checkChain(
  lines: AsyncIterable<string> | Iterable<string>,
  publicKey: KeyObject,
): Promise<ChainCheck> {
  const problems: ChainProblem[] = [];
  let line = 0;
  let prev = NO_LINE;
  let seal: ExportSeal | undefined;
  const wrong = (problem: string): void => {
    if (problems.length < PROBLEMS_MAX) problems.push({ line, problem });
  };
  for await (const read of lines) {
    // A copy of the file as text may end its lines with CR and LF.
    const text = read.replace(/\r$/, "");
    line += 1;
    if (seal !== undefined) wrong("it comes after the seal, which is the last line");
    const sealEnd = SEAL_END.exec(text);
    const end = sealEnd ?? LINE_END.exec(text);
    const hash = end?.[1];
    const body = end === null ? text : `${text.slice(0, end.index)}}`;
    const fields = asObject(tryParse(body)?.value);
    if (hash === undefined || fields === undefined) {
      wrong("it is not a line of an export, or its end was edited");
      continue;
    }
    if (sha256(body) !== hash) wrong("it was edited: its hash is that of another text");
    if (fields["prev"] !== prev)
      wrong("it does not follow the line before it: lines were removed, added or reordered here");
    prev = hash;
    if (sealEnd === null) continue;
    const signature = sealEnd[2] ?? "";
    seal = { ...(fields as unknown as ExportSeal), hash, signature };
    if (seal.changes !== line - 1) {
      wrong(`it seals ${seal.changes} changes, and ${line - 1} stand before it`);
    }
    if (!verify(null, Buffer.from(hash), publicKey, Buffer.from(signature, "base64"))) {
      wrong("it is not signed by this key");
    }
  }
  if (seal === undefined) {
    line += 1;
    wrong("the seal is missing: the end of the file was cut off");
  }
  return { changes: line - 1, seal, problems };
}

/**
 * One line of `tokenmarket changes export` (NDJSON, in the order of the positions). The line is the
 * JSON text of these fields in this order. `hash` is the SHA-256, in hexadecimal, of the line
 * without its last member (`,"hash":"…"` cut out). `prev` is the `hash` of the line before, and 64
 * zeros on the first line. For these actions, which may revoke access or lower a limit, readers may
 * rely on these values of `target` and `after`:
 * - `key.disable`: key id; `disabled_at`
 * - `key.cap`, `key.week-cap`, `key.day-cap`, `org.cap`: key id, or organization id for the last;
 *   `cap_usd` (null: no cap; `before`: the old cap)
 * - `connection.disable`: connection id; `disabled_at`
 * - `endpoint.remove`: endpoint id; null (`before` has `provider` and the limits)
 * - `limit.change`: key id (for a managed key its feature, such as `playground`) or organization
 *   id; `scope`, `of_one_key`, `model`, `source`, `rpm`, `tpm`, `concurrency` (all present; null:
 *   no limit)
 * - `hold.place`: organization id; `kind`, `state` (`limited`, `restricted`), `until` (null: no
 *   end), `reason`
 * - `org.keys-may-set-limits`: organization id; `allowed`
 * - `org.policy`: organization id; the whole policy, or null if it was removed
 */
export interface ExportedChange {
  readonly position: number;
  /** ISO 8601 in UTC, with milliseconds. */
  readonly at: string;
  readonly actor_kind: ActorKind;
  readonly actor_id: string;
  /** Null for a change that concerns the whole installation. */
  readonly org_id: string | null;
  readonly action: string;
  readonly target: string;
  readonly before: Facts | null;
  readonly after: Facts | null;
  readonly request_id: string | null;
  readonly client_network: string | null;
  readonly prev: string;
  readonly hash: string;
}

/** The last line: the number of changes, the filter of the export, and a signature. */
interface ExportSeal {
  readonly sealed: true;
  readonly changes: number;
  /** The filter of the export. The seal says nothing about changes that the filter excludes. */
  readonly since: string;
  readonly org_id: string | null;
  readonly action_prefix: string | null;
  readonly exported_at: string;
  readonly prev: string;
  readonly hash: string;
  /** Ed25519 signature of the text of `hash`, in base64, by the key that signs exported days. */
  readonly signature: string;
}
