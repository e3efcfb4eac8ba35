import type { JsonNode } from "../../../kernel/index.ts";

/** What a body loses on its way to a deployment of its own wire. */
export interface SameWireDrops {
  /** Names of top-level members. */
  readonly words: readonly number[];
  /** Members of objects inside the body. */
  readonly inside: readonly { readonly object: JsonNode; readonly wordIds: readonly number[] }[];
  /** For `x-tm-dropped-params`. */
  readonly names: readonly string[];
}
