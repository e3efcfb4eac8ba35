/** One invariant of the books and how often it is broken: 0 at any moment, online. */
export interface AuditCheck {
  /** `I1`, … as in this room's README. */
  readonly id: string;
  readonly title: string;
  readonly violations: number;
}
