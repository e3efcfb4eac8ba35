import type { ReactElement } from "react";

import type { Session } from "../../../src/console-api/contract.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Banner } from "../ui/banner.tsx";

/** What is not as in production, in one line. */
export function DevelopmentLine({
  installation,
  isSignedIn,
}: {
  readonly installation: Session["installation"];
  readonly isSignedIn: boolean;
}): ReactElement | null {
  const isTest = isSignedIn && installation.is_test_money;
  const { is_local_sign_in: isLocal } = installation;
  if (!isLocal && !isTest) return null;
  return (
    <Banner
      tone="warn"
      action={
        isLocal ? (
          <AppLink to="/docs" size="sm">
            Set up sign-in
          </AppLink>
        ) : null
      }
    >
      {isLocal ? "Local sign-in is for development on one machine only. " : null}
      {isTest ? "Test mode: credit bought here is not real money." : null}
    </Banner>
  );
}
