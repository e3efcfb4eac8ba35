import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import { Time } from "./time.tsx";

/**
 * Says how old figures are that come from a replica. If `at` is undefined, they are current, and
 * nothing is shown.
 */
export function AsOf({ at }: { readonly at: string | undefined }): ReactElement | null {
  if (at === undefined) return null;
  return (
    <Text size="sm" c="dimmed" role="note">
      As of <Time at={at} precision="second" />
    </Text>
  );
}
