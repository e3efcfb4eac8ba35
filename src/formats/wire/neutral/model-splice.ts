import { findPath } from "../../../kernel/index.ts";

/**
 * Writes the marketplace's model id over the provider's in the JSON texts of one answer. Chunks of
 * one stream begin with the same bytes up to their model, so the text learned from one chunk is
 * compared with the next before anything is searched.
 */
export class ModelSplice {
  readonly #json: string;
  readonly #path: readonly string[];
  /** Everything up to and including the provider's model id, and what replaces it. */
  #learned = "\0";
  #replacement = "";

  constructor(modelId: string, path: readonly string[]) {
    this.#json = JSON.stringify(modelId);
    this.#path = path;
  }

  apply(text: string): string {
    if (text.startsWith(this.#learned)) return this.#replacement + text.slice(this.#learned.length);
    const span = findPath(text, ...this.#path);
    if (span === undefined) return text;
    this.#learned = text.slice(0, span.end);
    this.#replacement = text.slice(0, span.start) + this.#json;
    return this.#replacement + text.slice(span.end);
  }
}
