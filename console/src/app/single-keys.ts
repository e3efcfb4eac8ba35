const NAME = "tm-single-keys";

/** True unless the person has switched single-key shortcuts (`g`, `/`, `?`) off in this browser. */
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
