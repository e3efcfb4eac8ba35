import { type ModelNames, type ServedModel, servedModelOf } from "../../../kernel/index.ts";

/**
 * Notes the model names that one answer reports. A stream may report one in every event: the first
 * is kept, unless a later one is a substitution.
 */
export class ServedModelNote {
  readonly #names: ModelNames;
  #last: unknown;
  #served: ServedModel | undefined;

  constructor(names: ModelNames) {
    this.#names = names;
  }

  get served(): ServedModel | undefined {
    return this.#served;
  }

  take(reported: unknown): void {
    if (reported === this.#last) return;
    this.#last = reported;
    const served = servedModelOf(this.#names, reported);
    if (served === undefined || this.#served?.isSubstituted === true) return;
    if (this.#served === undefined || served.isSubstituted) this.#served = served;
  }
}
