/** The effect of a key press. In text fields, only the palette's shortcut has one. */
export type Jump =
  | { readonly kind: "palette" | "help" | "search" | "prefix" | "nothing" }
  | { readonly kind: "go"; readonly to: string };

export interface Press {
  readonly key: string;
  readonly hasCommand: boolean;
  readonly hasAlt: boolean;
  readonly isTyping: boolean;
  /** True if the key pressed just before was `g`. */
  readonly isPrefixed: boolean;
  /** False if the reader switched these keys off, for example because a device sends stray keys. */
  readonly areSingleKeysOn: boolean;
}

/** Reads one key press; `targets` maps the letter after `g` to the path of a page. */
export function readJump(press: Press, targets: ReadonlyMap<string, string>): Jump {
  const key = press.key.toLowerCase();
  if (press.hasCommand) return { kind: key === "k" && !press.hasAlt ? "palette" : "nothing" };
  if (press.hasAlt || press.isTyping || !press.areSingleKeysOn) return { kind: "nothing" };
  if (press.isPrefixed) {
    const to = targets.get(key);
    return to === undefined ? { kind: "nothing" } : { kind: "go", to };
  }
  if (key === "g") return { kind: "prefix" };
  if (key === "?") return { kind: "help" };
  return { kind: key === "/" ? "search" : "nothing" };
}
