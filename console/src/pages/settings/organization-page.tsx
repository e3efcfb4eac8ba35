import { Button, Group, Stack, Switch, TextInput, Text } from "@mantine/core";
import { useState } from "react";

import type { Settings } from "../../api/contract.ts";
import { useAnswer, useChange, useMay, useSession } from "../../api/use-answer.ts";
import { Answer, Fault } from "../../ui/answer.tsx";
import { DownloadLink } from "../../ui/buttons.tsx";
import { controlled, fieldError, checkable, submitting } from "../../ui/fields.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { notices, notifyDone } from "../../ui/notice.ts";
import { ForRole, Note, Panel, RoleNote } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { Facts } from "../../ui/facts.tsx";
import { SettingsFrame } from "./settings-frame.tsx";
import { Support } from "../../app/repair-link.tsx";
import { AppLink } from "../../ui/app-link.tsx";

export function OrganizationPage() {
  const settings = useAnswer("GET /api/console/settings");
  return (
    <SettingsFrame title="Organization">
      <RoleNote need="organization" what="change the organization" />
      <Answer of={settings} rows={6}>
        {({ org }) => (
          <Panel title="Name and rules">
            <Stack gap="lg">
              <NameForm key={org.name} name={org.name} />
              <KeyPowers org={org} />
              <Facts
                facts={[
                  ["Organization ID", <Copyable value={org.org_id} label="organization ID" />],
                  ["Created", <Time at={org.created_at} />],
                ]}
              />
            </Stack>
          </Panel>
        )}
      </Answer>
      <DataPanel />
    </SettingsFrame>
  );
}

function NameForm({ name }: { readonly name: string }) {
  const [typed, setTyped] = useState(name);
  const change = useChange("PATCH /api/console/settings", ["GET /api/console/settings"]);
  const isChanged = typed.trim() !== name;

  function save(): void {
    if (!isChanged) return;
    change.mutate(
      { body: { name: typed.trim() } },
      { onSuccess: () => notifyDone(`Organization was renamed to “${typed.trim()}”`) },
    );
  }

  const wrongName = fieldError(change.error, "name");
  return (
    <ForRole need="organization">
      <form {...submitting(save)}>
        <Stack gap="sm" maw={480}>
          <Group align="flex-start" gap="xs" wrap="nowrap">
            <TextInput
              label="Name"
              description="1 to 64 characters. Shown on receipts and in the page header."
              {...controlled(typed, setTyped)}
              maxLength={64}
              required
              withAsterisk={false}
              error={wrongName}
              flex={1}
            />
            <Button
              type="submit"
              variant="default"
              mt={46}
              disabled={!isChanged}
              loading={change.isPending}
            >
              Save
            </Button>
          </Group>
          {change.isError && wrongName === undefined ? <Fault error={change.error} /> : null}
        </Stack>
      </form>
    </ForRole>
  );
}

function KeyPowers({ org }: { readonly org: Settings["org"] }) {
  const mayChange = useMay("organization");
  const change = useChange("PATCH /api/console/settings", ["GET /api/console/settings"]);
  return (
    <Switch
      label="Let keys lower organization limits"
      description="When off, a key can lower only its own limits."
      {...checkable(org.keys_may_set_org_limits, (isOn) =>
        change.mutate(
          { body: { keys_may_set_org_limits: isOn } },
          notices(`Settings of “${org.name}” were saved`),
        ),
      )}
      disabled={change.isPending || !mayChange}
    />
  );
}

function DataPanel() {
  const { installation } = useSession();
  return (
    <Panel title="Your data">
      <Stack gap="md" align="flex-start">
        <Text size="sm">
          The file contains your organization's people, keys, rules, connections, purchases and
          credit ledger. Its <AppLink to="/usage">requests</AppLink>,{" "}
          <AppLink to="/billing/statements">monthly statements</AppLink> and{" "}
          <AppLink to="/settings/changes">changes</AppLink> can be downloaded on their pages.
          Prompts and answers are not stored.
        </Text>
        <DownloadLink href="/api/console/export.json">Download as JSON</DownloadLink>
        {installation.support === null ? null : (
          <Note>
            <Support />
          </Note>
        )}
      </Stack>
    </Panel>
  );
}
