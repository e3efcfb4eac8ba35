import { Button, Stack, Text, Title } from "@mantine/core";
import { CircleAlert } from "lucide-react";
import { useId, useState, type ReactElement } from "react";

import type { ListingTrust } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMaybeSession } from "../../api/use-session.ts";
import { signInAddress } from "../../app/sign-in-address.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { CheckTable } from "./check-table.tsx";
import { FindingList } from "./finding-list.tsx";
import { RunHistory } from "./run-history.tsx";
import { breachLines, listingToShow, trustSentence } from "./verification-labels.ts";
import styles from "./verification.module.css";

type Chosen = Readonly<Partial<Record<"listing" | "check", string | undefined>>>;

export function ConformancePanel({ provider }: { readonly provider: string }): ReactElement {
  const isSignedIn = useMaybeSession()?.state === "signed_in";
  return (
    <Panel title="Conformance">
      <Text size="sm" c="dimmed" mb="md" className={styles.lead}>
        Up to twelve checks test whether the endpoint does what the provider's manifest says. A
        passed run counts for 30 days, and only for the manifest that was tested.
      </Text>
      {isSignedIn ? <Listings provider={provider} /> : <ToSignIn provider={provider} />}
    </Panel>
  );
}

function ToSignIn({ provider }: { readonly provider: string }): ReactElement {
  return (
    <Empty
      title="Sign in to see the results of conformance runs."
      action={
        <Button
          component="a"
          href={signInAddress({ back: `/providers/${encodeURIComponent(provider)}` })}
          variant="default"
        >
          Sign in
        </Button>
      }
    />
  );
}

function Listings({ provider }: { readonly provider: string }): ReactElement {
  const answer = useAnswer("GET /api/console/verification", { query: { provider } });
  const [chosen, choose] = useFilters<Chosen>();
  const [choices, setChoices] = useState(0);
  return (
    <Answer of={answer} rows={8}>
      {({ listings }) => {
        const shown = listingToShow(listings, chosen.listing);
        if (shown === undefined) return <Empty title="No models listed." />;
        return (
          <Stack gap="xl">
            <CheckTable
              listings={listings}
              shown={shown.model}
              onChoose={(listing, check) => {
                choose({ listing, check });
                setChoices(choices + 1);
              }}
            />
            <ListingFindings
              key={shown.model}
              trust={shown}
              chosen={chosen.check}
              choices={choices}
            />
          </Stack>
        );
      }}
    </Answer>
  );
}

function ListingFindings(props: {
  readonly trust: ListingTrust;
  readonly chosen: string | undefined;
  readonly choices: number;
}): ReactElement {
  const { trust, chosen, choices } = props;
  const id = useId();
  return (
    <section aria-labelledby={id} className={styles.listing}>
      <Title order={3} size="h5" id={id} className={styles.listingTitle}>
        {trust.model}
      </Title>
      <Stack gap="md">
        <Text size="sm">{trustSentence(trust)}</Text>
        <SuspectNote suspect={trust.suspect} />
        {trust.checks.length === 0 ? null : (
          <FindingList checks={trust.checks} chosen={chosen} choices={choices} />
        )}
        <Title order={4} size="h6">
          Last runs
        </Title>
        <RunHistory {...trust} />
      </Stack>
    </section>
  );
}

function SuspectNote({ suspect }: Pick<ListingTrust, "suspect">): ReactElement | null {
  if (suspect === null) return null;
  return (
    <div className={styles.suspect} role="note" aria-label="Suspect by live answers">
      <CircleAlert size={18} aria-hidden className={styles.mark} />
      <div>
        <Text size="sm" fw={600}>
          Suspect since <Time at={suspect.since} />
        </Text>
        <Text size="sm">
          Live answers do not match what the listing promises, so it is tried last until a run
          passes. Of the latest answers:
        </Text>
        <ul className={styles.breaches}>
          {breachLines(suspect).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </div>
    </div>
  );
}
