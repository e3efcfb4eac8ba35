import { Button, Stack, Text } from "@mantine/core";
import type { ReactElement } from "react";

import { useMay } from "../../api/use-may.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { UnplacedFault } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import type { FirstKey } from "./use-first-key.ts";

/** The step that shows the raw key for as long as this tab has it. */
export function KeyStep({ firstKey }: { readonly firstKey: FirstKey }): ReactElement {
  switch (firstKey.state) {
    case "asking":
      return <Loading rows={2} />;
    case "failed":
      return <Fault error={firstKey.error} retry={firstKey.retry} />;
    case "none":
      return <NoKey make={firstKey.make} />;
    case "saved":
      return (
        <Stack gap="sm">
          <SecretField secret={firstKey.secret} />
          <Text size="sm">
            It is in the code below until you close or reload this tab, also while you pay. After
            that, this key is not shown again. If you lose it, disable it and create a new one on
            the <KeysLink />.
          </Text>
        </Stack>
      );
    case "shown":
      return (
        <Stack gap="sm">
          <SecretField secret={firstKey.secret} />
          <Text size="sm">
            Save it now, where you keep passwords: later, not even support can recover it. It is in
            the code below already.
          </Text>
          <Act label="I saved it" run={firstKey.save} />
        </Stack>
      );
    default:
      return firstKey satisfies never;
  }
}

function NoKey({ make }: { readonly make: () => Promise<void> }): ReactElement {
  const mayCreate = useMay("keys");
  if (!mayCreate) return <RoleNote need="keys" what="create keys" />;
  return (
    <Stack gap="sm">
      <Text size="sm">
        No key to show: a key is shown only by the tab that created it. Create one, and the code
        below has it. Your other keys are on the <KeysLink />.
      </Text>
      <Act label="Create a key and put it in" run={make} />
    </Stack>
  );
}

function Act(props: { readonly label: string; readonly run: () => Promise<void> }): ReactElement {
  const submission = useSubmission();
  return (
    <>
      <UnplacedFault fault={submission.fault} fields={[]} />
      <div>
        <Button loading={submission.isBusy} onClick={() => submission.run(props.run)}>
          {props.label}
        </Button>
      </div>
    </>
  );
}

function KeysLink(): ReactElement {
  return (
    <AppLink to="/keys" inherit>
      keys page
    </AppLink>
  );
}
