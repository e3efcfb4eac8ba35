import { Button, Stack, Text } from "@mantine/core";
import type { ReactElement } from "react";

import type { Settings } from "../../../../src/account/console-api/contract.ts";
import { signOut } from "../../app/sign-out.ts";
import { formatCount } from "../../ui/count.tsx";
import { notifyFault } from "../../ui/notice.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { browserName } from "./browser-name.ts";
import { Facts } from "../../ui/facts.tsx";

/** This browser's session, and how many others there are. */
export function SessionPanel(props: { readonly sessions: Settings["sessions"] }): ReactElement {
  const { started_at, expires_at, user_agent, others } = props.sessions;
  return (
    <Panel title="Session">
      <Stack gap="md" align="flex-start">
        <Facts
          facts={[
            ["This browser", browserName(user_agent)],
            ["Signed in", <Time key="started" at={started_at} />],
            ["Expires", <Time key="ends" at={expires_at} />],
            ["Other browsers", others === 0 ? "None signed in" : formatCount(others)],
          ]}
        />
        <Button variant="default" onClick={() => void signOut().catch(notifyFault)}>
          Sign out
        </Button>
        <Text size="sm" c="dimmed">
          Signing out ends the session in this browser only. Other browsers and your session at the
          identity provider stay signed in.
        </Text>
      </Stack>
    </Panel>
  );
}
