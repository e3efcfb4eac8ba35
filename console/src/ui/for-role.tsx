import type { ReactNode } from "react";

import { useMay, type Need, useSession } from "../api/use-session.ts";
import { roleNote } from "../../../src/kernel/core/roles.ts";
import kit from "./kit.module.css";
import { Note } from "./note.tsx";

/** Says which roles may do something. Shows nothing if the reader's own role may do it. */
export function RoleNote(props: { readonly need: Need; readonly what: string }) {
  const isAllowed = useMay(props.need);
  const role = useSession().org?.role;
  if (isAllowed || role === undefined) return null;
  return <Note role="note">{roleNote(props.need, props.what, role)}</Note>;
}

/** Disables a form for people whose role may not submit it. They can still read it. */
export function ForRole(props: { readonly need: Need; readonly children: ReactNode }) {
  return (
    <fieldset disabled={!useMay(props.need)} className={kit.forRole}>
      {props.children}
    </fieldset>
  );
}
