import { Button, Stack, Text } from "@mantine/core";
import { useState, type ReactElement } from "react";

import { AppLink } from "../../ui/app-link.tsx";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import type { FirstKey } from "./use-first-key.ts";

/** The key itself, until its owner says that it is saved. */
export function KeyStep({ firstKey }: { readonly firstKey: FirstKey }): ReactElement {
  if (firstKey.state === "asking") return <Loading rows={2} />;
  if (firstKey.state === "failed") {
    return <Fault error={firstKey.error} retry={firstKey.retry} />;
  }
  if (firstKey.state === "saved") {
    return (
      <Text size="sm">
        This key is not shown again. If you lose it, disable it and create a new one on the{" "}
        <KeysLink />.
      </Text>
    );
  }
  if (firstKey.state === "none") {
    return (
      <Text size="sm">
        No key to show. A trial key is shown until it is saved, for at most 15 minutes. Create a new
        one on the <KeysLink />.
      </Text>
    );
  }
  return <ShownKey secret={firstKey.reveal.key} onSaved={firstKey.onSaved} />;
}

function ShownKey(props: {
  readonly secret: string;
  readonly onSaved: () => Promise<void>;
}): ReactElement {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>();
  async function save(): Promise<void> {
    setBusy(true);
    setFault(undefined);
    try {
      await props.onSaved();
    } catch (error) {
      setFault(error);
      setBusy(false);
    }
  }
  return (
    <Stack gap="sm">
      <Text size="sm">
        This key stays readable here until you press “I saved it”, for 15 minutes after sign-in and
        in this browser only. After that, not even support can recover it.
      </Text>
      <SecretField secret={props.secret} />
      {fault === undefined ? null : <Fault error={fault} />}
      <div>
        <Button loading={isBusy} onClick={() => void save()}>
          I saved it
        </Button>
      </div>
    </Stack>
  );
}

function KeysLink(): ReactElement {
  return (
    <AppLink to="/keys" inherit>
      keys page
    </AppLink>
  );
}
