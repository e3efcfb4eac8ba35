import { createContext } from "react";

export interface Crumb {
  readonly label: string;
  readonly to: string;
}

/** The parent of the current page. A "not found" message links to it. */
export const PageAbove = createContext<Crumb | undefined>(undefined);
