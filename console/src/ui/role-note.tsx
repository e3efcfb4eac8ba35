import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import { useMay, type Need } from "../api/use-may.ts";
import { useSession } from "../api/use-session.ts";
import { roleNote } from "../../../src/kernel/core/roles.ts";

/** Says which roles may do something. Shows nothing if the reader's own role may. */
export function RoleNote(props: {
  readonly need: Need;
  readonly what: string;
}): ReactElement | null {
  const isAllowed = useMay(props.need);
  const role = useSession().org?.role;
  if (isAllowed || role === undefined) return null;
  return (
    <Text size="sm" c="dimmed" role="note">
      {roleNote(props.need, props.what, role)}
    </Text>
  );
}
