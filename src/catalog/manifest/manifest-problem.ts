/** One thing that is wrong with a manifest. */
export interface ManifestProblem {
  /** JSON pointer of the place; of the object where a field is missing; "" is the document. */
  readonly pointer: string;
  /** Stable id of the rule, such as `price-decimals`. */
  readonly rule: string;
  /** What is wrong and what to do. */
  readonly message: string;
}
