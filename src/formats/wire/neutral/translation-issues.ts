const DROPPED_NAMES_MAX = 64;
const NAME_CHARS_MAX = 64;

/** Collects the fields that a translation to the other wire refuses or drops. */
export class TranslationIssues {
  readonly #refused: { readonly field: string; readonly message: string }[] = [];
  readonly #dropped = new Set<string>();

  /** `message` follows the field: "must be …". */
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

/** A caller's field name made safe for a response header: short, printable, without commas. */
export function headerName(name: string): string {
  return name.slice(0, NAME_CHARS_MAX).replaceAll(/[^\w.[\]\-:/@+]/g, "?");
}

/** The end of most messages, with the reason and the next step. */
export const CANNOT_CROSS =
  "cannot be translated for the providers of this model; remove it or choose a model that accepts it";
/** The fields that a translation to the other wire refuses or drops. */
export interface TranslationNeeds {
  /** Fields that prevent the translation. `message` begins with the field. */
  readonly refused: readonly { readonly field: string; readonly message: string }[];
  /** Fields without a counterpart: dropped and named in `x-tm-dropped-params`. */
  readonly dropped: readonly string[];
}
