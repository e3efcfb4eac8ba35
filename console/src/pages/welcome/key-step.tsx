import { Button, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { refreshAnswers, useMay, useSession } from "../../api/use-answer.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { Fault, Loading } from "../../ui/answer.tsx";
import { RoleNote } from "../../ui/page.tsx";
import { SecretField } from "../../ui/secret-once.tsx";
import { UnplacedFault, useSubmission } from "../../ui/form-dialog.tsx";
import { ApiFault, call } from "../../api/client.ts";
import { keptKey, type KeptKey } from "../../app/kept-key.ts";

/** The step that shows the raw key for as long as this tab has it. */
export function KeyStep({ firstKey }: { readonly firstKey: FirstKey }) {
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
            the <AppLink to="/keys">keys page</AppLink>.
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

function NoKey({ make }: { readonly make: () => Promise<void> }) {
  const mayCreate = useMay("keys");
  if (!mayCreate) return <RoleNote need="keys" what="create keys" />;
  return (
    <Stack gap="sm">
      <Text size="sm">
        No key to show: a key is shown only by the tab that created it. Create one, and the code
        below has it. Your other keys are on the <AppLink to="/keys">keys page</AppLink>.
      </Text>
      <Act label="Create a key and put it in" run={make} />
    </Stack>
  );
}

function Act(props: { readonly label: string; readonly run: () => Promise<void> }) {
  const submission = useSubmission();
  return (
    <>
      <UnplacedFault fault={submission.fault} />
      <div>
        <Button loading={submission.isBusy} onClick={() => submission.run(props.run)}>
          {props.label}
        </Button>
      </div>
    </>
  );
}

type FirstKey =
  | { readonly state: "asking" }
  | { readonly state: "none"; readonly make: () => Promise<void> }
  | { readonly state: "shown"; readonly secret: string; readonly save: () => Promise<void> }
  | { readonly state: "saved"; readonly secret: string }
  | { readonly state: "failed"; readonly error: unknown; readonly retry: () => void };

/** The key on the welcome page: the trial key, requested when the page opens, or a new key. */
export function useFirstKey(): FirstKey {
  const { has_reveal: hasReveal, org } = useSession();
  const orgId = org?.org_id ?? "";
  const [error, setError] = useState<unknown>();
  const [key, setKey] = useState<KeptKey | undefined>(keptKey.of(orgId));
  const [isGone, setGone] = useState(false);
  const wasAsked = useRef(false);
  const client = useQueryClient();

  function keep(of: Omit<KeptKey, "orgId">): void {
    const next = { ...of, orgId };
    keptKey.keep(next);
    setKey(next);
  }
  async function ask(): Promise<void> {
    setError(undefined);
    try {
      const { key: secret } = await call("POST /api/console/reveal");
      keep({ secret, isSaved: false, isTrial: true });
      void refreshAnswers(client, ["GET /api/console/keys"]);
    } catch (fault) {
      if (fault instanceof ApiFault && fault.status === 410) setGone(true);
      else setError(fault);
    }
  }
  async function make(): Promise<void> {
    const { secret } = await call("POST /api/console/keys", { body: { name: FIRST_NAME } });
    keep({ secret, isSaved: false, isTrial: false });
    await refreshAnswers(client, ["GET /api/console/keys", "GET /api/console/overview"]);
  }
  async function save({ secret, isTrial }: KeptKey): Promise<void> {
    if (isTrial) await call("POST /api/console/reveal/saved");
    keep({ secret, isTrial, isSaved: true });
    if (isTrial) await refreshAnswers(client, []);
  }
  const isDue = hasReveal && key === undefined && !isGone;
  useEffect(() => {
    if (!isDue || wasAsked.current) return;
    wasAsked.current = true;
    void ask();
  });

  if (key !== undefined) {
    const { secret } = key;
    return key.isSaved
      ? { state: "saved", secret }
      : { state: "shown", secret, save: () => save(key) };
  }
  if (error !== undefined) return { state: "failed", error, retry: () => void ask() };
  return isDue ? { state: "asking" } : { state: "none", make };
}

const FIRST_NAME = "first key";
