import { ROLE_WORDS } from "../../../src/kernel/core/roles.ts";
import { Group, Stack, Text } from "@mantine/core";

import { useSession } from "../api/use-answer.ts";
import { LinkButton } from "../ui/app-link.tsx";
import { Panel } from "../ui/page.tsx";

export function ReceivedInvitations() {
  const { invitations } = useSession();
  if (invitations.length === 0) return null;
  return (
    <Panel title="You are invited">
      <Stack gap="xs">
        {invitations.map(({ invitation_id: id, org_name: name, role, invited_by: by }) => (
          <Text key={id} size="sm">
            {by ?? "An owner"} invites you to <strong>{name}</strong> as{" "}
            <strong>{ROLE_WORDS[role].name}</strong>.
          </Text>
        ))}
        <Group>
          <LinkButton to="/join" size="xs" variant="filled">
            {invitations.length === 1 ? "View invitation" : "View invitations"}
          </LinkButton>
        </Group>
      </Stack>
    </Panel>
  );
}
