/**
 * One provider's own refusals, and the differences of its answers, as its own pages and its users
 * describe them. Written without regard to what the gateway does about it, so that a test of the
 * one can fail.
 */
export interface StrictProvider {
  readonly wire: "wire_a" | "wire_b";
  /** The status of an unknown field. Default 400. */
  readonly status?: number;
  /** The header that has to bring the key; absent if no key is needed. */
  readonly auth?: "authorization" | "x-api-key" | "api-key";
  readonly needsUserAgent?: true;
  /** Top-level fields that it knows; absent: unknown ones are ignored. */
  readonly knows?: ReadonlySet<string>;
  /** Top-level fields that it refuses whatever is unknown to it. */
  readonly refuses?: ReadonlySet<string>;
  /** Members of a message that it refuses. */
  readonly refusesInMessages?: ReadonlySet<string>;
  /** Members of a message that are null. */
  readonly refusesNulls?: true;
  readonly refusesDeveloper?: true;
  /** `cache_control`, wherever it is. */
  readonly refusesMarks?: true;
  /** `strict` in a function. */
  readonly refusesStrict?: true;
  /** Tool results in parts. */
  readonly refusesPartsInResults?: true;
  /** Choices of tools as texts, and `named` for one that names a tool. Default: those of its wire. */
  readonly choices?: ReadonlySet<string>;
  readonly temperatureMax?: number;
  /** Most output tokens of a whole answer. */
  readonly wholeMax?: number;
  /** Where a stream has its usage. Default: in a chunk of its own, when it was asked for. */
  readonly usage?: "unasked" | "in-choice";
  /** Thinking is in the total alone. */
  readonly hidesReasoning?: true;
  /** Calls have signatures, and a history without them is refused. */
  readonly signs?: true;
  /** Calls come without a finish reason. */
  readonly silentCalls?: true;
  /** A ceiling for the price has to be in `provider.max_price`, as texts. */
  readonly wantsCeiling?: true;
}
