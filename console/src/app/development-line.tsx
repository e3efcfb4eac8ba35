import { CloseButton, Group } from "@mantine/core";
import type { ReactElement } from "react";

import type { Session } from "../../../src/console-api/contract.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Banner } from "../ui/banner.tsx";
import { useHiddenForADay } from "./hidden-for-a-day.ts";

/** What is not as in production, in one line that can be closed for a day. */
export function DevelopmentLine({
  installation,
  isSignedIn,
}: {
  readonly installation: Session["installation"];
  readonly isSignedIn: boolean;
}): ReactElement | null {
  const [isHidden, hide] = useHiddenForADay();
  const isTest = isSignedIn && installation.is_test_money;
  const { is_local_sign_in: isLocal } = installation;
  if (isHidden || (!isLocal && !isTest)) return null;
  return (
    <Banner
      tone="warn"
      action={
        <Group gap="sm" wrap="nowrap">
          {isLocal ? (
            <AppLink to="/docs" size="sm">
              Set up sign-in
            </AppLink>
          ) : null}
          <CloseButton size="sm" aria-label="Hide this line for a day" onClick={hide} />
        </Group>
      }
    >
      {isLocal ? "Local sign-in is for development on one machine only. " : null}
      {isTest ? "Test mode: credit bought here is not real money." : null}
    </Banner>
  );
}
