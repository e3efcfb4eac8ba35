import { createContext } from "react";

export interface Crumb {
  readonly label: string;
  readonly to: string;
}

/** The parent of the current page. "Not found" messages link to it. */
export const PageAbove = createContext<Crumb | undefined>(undefined);
