/** One invariant of the books, with its number of violations, which must be 0 at any moment. */
export interface AuditCheck {
  /** The invariant's number in `design.md` (`I1`, `I2`, …), or a name, such as `replay-debits`. */
  readonly id: string;
  readonly title: string;
  readonly violations: number;
  /** The first rows that violate the invariant; absent if there are none. */
  readonly examples?: readonly AuditExample[];
}

/** A row of the books and what it should be, in micro-dollars; exact costs in pico-dollars. */
export interface AuditExample {
  /** Names the row: `account wallet:org_…`, `attempt 123`, … */
  readonly row: string;
  readonly found: string;
  readonly expected: string;
}

export interface FlaggedListing {
  readonly flag: string;
  readonly providerId: string;
  readonly modelId: string;
  readonly attempts: number;
}

export interface AuditProgress {
  readonly replayed: number;
  readonly entries: number;
}

export const AUDIT_EXAMPLES_MAX: number = 10;

export class AuditTally {
  readonly #id: string;
  readonly #title: string;
  readonly #examples: AuditExample[] = [];
  #violations = 0;

  constructor(id: string, title: string) {
    this.#id = id;
    this.#title = title;
  }

  add(example: AuditExample): void {
    this.#violations += 1;
    if (this.#examples.length < AUDIT_EXAMPLES_MAX) this.#examples.push(example);
  }

  compare(row: string, found: string, expected: string): void {
    if (found !== expected) this.add({ row, found, expected });
  }

  get check(): AuditCheck {
    return auditCheck({ id: this.#id, title: this.#title }, this.#violations, this.#examples);
  }
}

export function auditCheck(
  of: { readonly id: string; readonly title: string },
  violations: number,
  examples: readonly AuditExample[],
): AuditCheck {
  return { id: of.id, title: of.title, violations, ...(violations === 0 ? {} : { examples }) };
}

/** Merges the checks of parts of the books into one per id, in the order of the ids. */
export function mergeChecks(parts: readonly AuditCheck[]): readonly AuditCheck[] {
  const merged = new Map<string, AuditCheck>();
  for (const part of parts) {
    const known = merged.get(part.id);
    merged.set(part.id, known === undefined ? part : together(known, part));
  }
  return [...merged.values()].sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
}

function together(a: AuditCheck, b: AuditCheck): AuditCheck {
  const examples = [...(a.examples ?? []), ...(b.examples ?? [])]
    .sort((x, y) => (x.row < y.row ? -1 : x.row > y.row ? 1 : 0))
    .slice(0, AUDIT_EXAMPLES_MAX);
  return auditCheck(a, a.violations + b.violations, examples);
}
