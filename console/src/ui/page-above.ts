import { createContext } from "react";

export interface Crumb {
  readonly label: string;
  readonly to: string;
}

/** The page above the one on show: where to go when what was asked for is not there. */
export const PageAbove = createContext<Crumb | undefined>(undefined);
