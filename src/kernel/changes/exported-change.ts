import type { ActorKind, Facts } from "./change.ts";

/**
 * One line of `tokenmarket changes export` (NDJSON, in the order of the positions). The line is the
 * JSON text of these fields in this order; `hash` is the SHA-256, in hexadecimal, of the text of the
 * line without its last member (`,"hash":"…"` cut out), and `prev` is the `hash` of the line before,
 * 64 zeros on the first. What closes something is recognised by its action:
 *
 * | `action` | `target` | `after` |
 * | --- | --- | --- |
 * | `key.disable` | key id | `disabled_at` |
 * | `key.cap`, `org.cap` | key id, organization id | `cap_usd` (null: none; `before` has the old one) |
 * | `connection.disable` | connection id | `disabled_at` |
 * | `endpoint.remove` | endpoint id | null (`before`: `provider`, and the limits) |
 * | `limit.change` | key id (a managed key by its part) or organization id | `scope`, `model`, `source`, `rpm`, `tpm`, `concurrency` (all; null: none) |
 * | `hold.place` | organization id | `kind`, `state` (`limited`, `restricted`), `until` (null: no end), `reason` |
 * | `org.keys-may-set-limits` | organization id | `allowed` |
 * | `org.policy` | organization id | the whole policy |
 */
export interface ExportedChange {
  readonly position: number;
  /** ISO 8601 in UTC, with milliseconds. */
  readonly at: string;
  readonly actor_kind: ActorKind;
  readonly actor_id: string;
  /** Null: of the installation. */
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

/** The last line: how many there are, what was asked for, and the signature that holds them all. */
export interface ExportSeal {
  readonly sealed: true;
  /** Lines before this one. */
  readonly changes: number;
  /** What was asked for: a filtered export proves nothing about what it left out. */
  readonly since: string;
  readonly org_id: string | null;
  readonly action_prefix: string | null;
  readonly exported_at: string;
  readonly prev: string;
  readonly hash: string;
  /** Ed25519 with the key of the exported days, over the text of `hash`; base64. */
  readonly signature: string;
}
