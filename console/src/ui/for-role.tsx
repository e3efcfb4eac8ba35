import type { ReactElement, ReactNode } from "react";

import { useMay, type Need } from "../api/use-may.ts";
import kit from "./kit.module.css";

/** Disables a form for people whose role may not submit it. They can still read it. */
export function ForRole(props: {
  readonly need: Need;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <fieldset disabled={!useMay(props.need)} className={kit.forRole}>
      {props.children}
    </fieldset>
  );
}
