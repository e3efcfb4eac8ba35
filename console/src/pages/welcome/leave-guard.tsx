import { Button, Group, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import type { ReactElement, RefObject } from "react";

import { Dialog } from "../../ui/dialog.tsx";

/**
 * Asks for confirmation if the reader leaves the page with an unsaved key. Going to the checkout
 * needs none, because the checkout leads back.
 */
export function LeaveGuard(props: {
  readonly isUnsaved: boolean;
  readonly isAtCheckout: RefObject<boolean>;
}): ReactElement {
  const { isUnsaved, isAtCheckout } = props;
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ next }) => isUnsaved && next.pathname !== "/welcome",
    enableBeforeUnload: () => isUnsaved && !isAtCheckout.current,
    withResolver: true,
  });
  const isBlocked = status === "blocked";
  return (
    <Dialog opened={isBlocked} onClose={() => reset?.()} title="Have you saved your key?">
      <Stack gap="md">
        <Text size="sm">
          Your key is readable on this page while this tab is open. After that it cannot be shown
          again.
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => proceed?.()}>
            Leave
          </Button>
          <Button data-autofocus onClick={() => reset?.()}>
            Stay and save it
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
