import { Group } from "@mantine/core";
import type { ReactElement } from "react";

import type { Settings } from "../../../../src/account/console-api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { Facts } from "../../ui/facts.tsx";

/** The reader's profile, which only the identity provider can change. */
export function ProfilePanel({ user }: { readonly user: Settings["user"] }): ReactElement {
  return (
    <Panel title="Profile">
      <Facts
        facts={[
          ["Name", user.name ?? "–"],
          [
            "Email",
            <Group key="email" gap="xs">
              {user.email}
              <StatusBadge tone={user.is_verified ? "ok" : "warn"}>
                {user.is_verified ? "Verified" : "Not verified"}
              </StatusBadge>
            </Group>,
          ],
          ...user.identities.map(
            ({ issuer, linked_at }) =>
              [
                "Signs in with",
                <span key={issuer}>
                  {issuer}, since <Time at={linked_at} precision="day" />
                </span>,
              ] as const,
          ),
        ]}
      />
    </Panel>
  );
}
