/**
 * One provider's own refusals, and the differences of its answers, as its pages and its users
 * describe them. Written without regard to what the gateway does, so that a test can fail.
 */
export interface StrictProvider {
  readonly wire: "wire_a" | "wire_b";
  /** Status for an unknown field. Default 400. */
  readonly status?: number;
  /** The header that must have the key; absent if no key is needed. */
  readonly auth?: "authorization" | "x-api-key" | "api-key";
  readonly needsUserAgent?: true;
  /** Top-level fields that the provider knows; absent: it ignores unknown ones. */
  readonly knows?: ReadonlySet<string>;
  /** Top-level fields that the provider refuses in any case. */
  readonly refuses?: ReadonlySet<string>;
  /** Members of a message that the provider refuses. */
  readonly refusesInMessages?: ReadonlySet<string>;
  readonly refusesNulls?: true;
  readonly refusesDeveloper?: true;
  readonly refusesMarks?: true;
  readonly refusesStrict?: true;
  readonly refusesPartsInResults?: true;
  /**
   * Choices of tools that the provider accepts as texts, and `named` for one that names a tool.
   * Default: those of its wire.
   */
  readonly choices?: ReadonlySet<string>;
  readonly temperatureMax?: number;
  /** Most output tokens of a whole answer. */
  readonly wholeMax?: number;
  /**
   * Where a stream has its usage: in its last choice, or unasked. Default: in its own chunk, if the
   * client requests it.
   */
  readonly usage?: "unasked" | "in-choice";
  /** The provider counts thinking only in the total. */
  readonly hidesReasoning?: true;
  /** The provider signs tool calls, and refuses a history without these signatures. */
  readonly signs?: true;
  /** The provider sends tool calls without a finish reason. */
  readonly silentCalls?: true;
  /** The provider requires a ceiling for the price in `provider.max_price`, as texts. */
  readonly wantsCeiling?: true;
}
