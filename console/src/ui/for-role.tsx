import type { ReactElement, ReactNode } from "react";

import { useMay, type Need } from "../api/use-may.ts";
import kit from "./kit.module.css";

/** A form that a role which may not send it can read, and nothing more. */
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
