const NAME = "tm-single-keys";

/** Do single keys (`g`, `/`, `?`) act? Kept in this browser; they do unless switched off. */
export function areSingleKeysOn(): boolean {
  try {
    return globalThis.localStorage.getItem(NAME) !== "off";
  } catch {
    return true;
  }
}

export function setSingleKeys(areOn: boolean): void {
  try {
    if (areOn) globalThis.localStorage.removeItem(NAME);
    else globalThis.localStorage.setItem(NAME, "off");
  } catch {
    // A browser that keeps nothing forgets this too.
  }
}
