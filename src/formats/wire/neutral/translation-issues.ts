const DROPPED_NAMES_MAX = 64;
const NAME_CHARS_MAX = 64;

/**
 * Gathers what cannot be translated and what gets lost while a body is decoded for the other wire.
 */
export class TranslationIssues {
  readonly #refused: { readonly field: string; readonly message: string }[] = [];
  readonly #dropped = new Set<string>();

  /** `message` follows the field: "has no counterpart …". */
  refuse(field: string, message: string): void {
    this.#refused.push({ field, message: `${field} ${message}` });
  }

  drop(name: string): void {
    if (this.#dropped.size < DROPPED_NAMES_MAX) this.#dropped.add(headerName(name));
  }

  needs(): TranslationNeeds {
    return { refused: this.#refused, dropped: [...this.#dropped] };
  }
}

/** A caller's field name as it may stand in a response header: short, printable, without commas. */
export function headerName(name: string): string {
  return name.slice(0, NAME_CHARS_MAX).replaceAll(/[^\w.[\]\-:/@+]/g, "?");
}

/** The end of most refusals: why, and what to do. */
export const CANNOT_CROSS =
  "cannot be translated for the providers of this model; remove it or choose a model that accepts it";
/** The effect on the request's fields when it is translated to the other wire. */
export interface TranslationNeeds {
  /**
   * Fields that cannot be translated: the request is not servable there. Path first, then the
   * sentence.
   */
  readonly refused: readonly { readonly field: string; readonly message: string }[];
  /** Fields without a counterpart: dropped and named in `x-tm-dropped-params`. */
  readonly dropped: readonly string[];
}
