import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import { useMay, type Need } from "../api/use-may.ts";
import { useSession } from "../api/use-session.ts";
import { ROLES_FOR } from "./role-words.ts";

/** Why what is disabled on this page is: nothing where the role may do it. */
export function RoleNote(props: {
  readonly need: Need;
  /** What needs the role: "Creating and changing keys". */
  readonly what: string;
}): ReactElement | null {
  const isAllowed = useMay(props.need);
  const role = useSession().org?.role;
  if (isAllowed) return null;
  return (
    <Text size="sm" c="dimmed" role="note">
      {props.what} needs the role {ROLES_FOR[props.need]}. Your role here is {role}; an owner can
      change it.
    </Text>
  );
}
