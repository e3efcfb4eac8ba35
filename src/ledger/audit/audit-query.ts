export interface AuditQuery {
  readonly id: string;
  readonly title: string;
  /** One row of three texts for every violation: what it is, what was found, what was expected. */
  readonly sql: string;
}

/** The day of an attempt, whose id carries it. */
export const attemptDay = (id: string): string =>
  `date '2025-01-01' + ((${id} >> 22) / 86400000)::integer`;
