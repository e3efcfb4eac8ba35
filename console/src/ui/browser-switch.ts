import { useSyncExternalStore } from "react";

import { recall, remember } from "./browser-memory.ts";

/** A choice, on or off, that this browser stores; `usual` applies if nothing is stored. */
export class BrowserSwitch {
  readonly #name: string;
  readonly #usual: boolean;
  readonly #listeners = new Set<() => void>();

  constructor(name: string, usual: boolean) {
    this.#name = name;
    this.#usual = usual;
  }

  readonly isOn = (): boolean => {
    const kept = recall("localStorage", this.#name);
    return kept === (this.#usual ? "off" : "on") ? !this.#usual : this.#usual;
  };

  readonly set = (to: boolean): void => {
    remember("localStorage", this.#name, to === this.#usual ? undefined : to ? "on" : "off");
    for (const tell of this.#listeners) tell();
  };

  use(): readonly [boolean, (to: boolean) => void] {
    return [useSyncExternalStore(this.#listen, this.isOn), this.set];
  }

  readonly #listen = (tell: () => void): (() => void) => {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  };
}

/** On unless the reader switched the shortcuts of single keys (`g`, `/`, `?`) off. */
export const singleKeys = new BrowserSwitch("tm-single-keys", true);
/** On if the reader has chosen patterns in addition to the colors of charts. */
export const hatching = new BrowserSwitch("tm-hatching", false);
