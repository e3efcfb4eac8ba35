import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import { Time } from "./time.tsx";

/** Says that older requests were not searched; nothing where all of them were. */
export function SearchedBack({ to }: { readonly to: string | undefined }): ReactElement | null {
  if (to === undefined) return null;
  return (
    <Text size="sm" c="dimmed" role="note">
      Searched back to <Time at={to} precision="second" />; older requests may match.
    </Text>
  );
}
