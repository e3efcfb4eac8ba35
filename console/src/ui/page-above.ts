import { createContext } from "react";

export interface Crumb {
  readonly label: string;
  readonly to: string;
}

/** The parent of the current page, which "Not found" messages link to. */
export const PageAbove = createContext<Crumb | undefined>(undefined);
