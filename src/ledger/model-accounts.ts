/** What is posted to one account, and what is held of it, in micro-dollars. */
export interface ModelAccount {
  debits: bigint;
  credits: bigint;
  reserved: bigint;
}

/** What an organization or a key may spend and did. */
export interface ModelSpender {
  /** Per month; null: no cap. */
  cap: bigint | null;
  /** Per UTC day and per week from Monday on; only keys have such. */
  readonly periodCaps: { day: bigint | null; week: bigint | null };
  /** Counts against the cap of every month. */
  inFlight: bigint;
  readonly months: Map<number, { settled: bigint; reserved: bigint }>;
  /** Settled by the UTC day of admission, as days since 1970. */
  readonly days: Map<number, bigint>;
}

/** With its virtual keys by id. */
export interface ModelOrg extends ModelSpender {
  readonly keys: Map<string, ModelSpender>;
}
