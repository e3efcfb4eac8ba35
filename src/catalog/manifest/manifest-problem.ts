/** One thing that is wrong with a manifest. */
export interface ManifestProblem {
  /** JSON pointer of the place; of the object where a field is missing; "" is the document. */
  readonly pointer: string;
  /** Stable id of the rule, such as `price-decimals`. */
  readonly rule: string;
  /** The problem and the next step. */
  readonly message: string;
}
