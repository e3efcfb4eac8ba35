import { recall, remember } from "../ui/browser-memory.ts";

const NAME = "tm-single-keys";

/** True unless the reader switched single-key shortcuts (`g`, `/`, `?`) off in this browser. */
export function areSingleKeysOn(): boolean {
  return recall("localStorage", NAME) !== "off";
}

export function setSingleKeys(areOn: boolean): void {
  remember("localStorage", NAME, areOn ? undefined : "off");
}
