import type { OrgId } from "../../kernel/index.ts";
import type { AlertFact, AlertKind } from "./alert-kinds.ts";

/** Dollars are decimal strings; no secret. */
export type AlertFacts = Readonly<Record<string, AlertFact>>;

/** Something that was noticed, once. */
export interface AlertEvent {
  readonly eventId: string;
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
  readonly atMs: number;
}
