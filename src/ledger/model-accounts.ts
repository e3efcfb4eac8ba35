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
  /** Counts against the cap of every month. */
  inFlight: bigint;
  readonly months: Map<number, { settled: bigint; reserved: bigint }>;
}

/** With its virtual keys by id. */
export interface ModelOrg extends ModelSpender {
  readonly keys: Map<string, ModelSpender>;
}
