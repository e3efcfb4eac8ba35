import { Button, Stack, Text, Title } from "@mantine/core";
import { CircleAlert, ChevronDown } from "lucide-react";
import { useId, useState, useEffect, useRef } from "react";

import type { ListingTrust, CheckFinding, CheckFlaw, ConformanceRun } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useIsSignedIn } from "../models/use-served.ts";
import { signInAddress } from "../../app/sign-in.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { CheckTable } from "./check-table.tsx";
import {
  breachLines,
  listingToShow,
  trustSentence,
  CHECK_STATUS,
  checkName,
  RUN_SOURCE,
  RUN_VERDICT,
} from "./verification-labels.ts";
import styles from "./verification.module.css";
import { CheckMark } from "./trust-badges.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { timeColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";

type Chosen = Readonly<Partial<Record<"listing" | "check", string | undefined>>>;

export function ConformancePanel({ provider }: { readonly provider: string }) {
  const isSignedIn = useIsSignedIn();
  return (
    <Panel title="Conformance">
      <Note mb="md" className={styles.lead}>
        Up to twelve checks test whether the endpoint does what the provider's manifest says. A
        passed run counts for 30 days, and only for the manifest that was tested.
      </Note>
      {isSignedIn ? (
        <Listings provider={provider} />
      ) : (
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
      )}
    </Panel>
  );
}

function Listings({ provider }: { readonly provider: string }) {
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
}) {
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
          <ul className={styles.findings}>
            {trust.checks.map((check) => (
              <li key={check.id}>
                <Finding check={check} choices={check.id === chosen ? choices : undefined} />
              </li>
            ))}
          </ul>
        )}
        <Title order={4} size="h6">
          Last runs
        </Title>
        <RunHistory {...trust} />
      </Stack>
    </section>
  );
}

function SuspectNote({ suspect }: Pick<ListingTrust, "suspect">) {
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

/** One check of a run. It is open at first if it is the chosen check or has a problem. */
function Finding(props: {
  readonly check: CheckFinding;
  /**
   * Counts the choices of any check, so that each choice moves the focus to the chosen check, even
   * to the same check again. Undefined if this check is not the chosen one.
   */
  readonly choices: number | undefined;
}) {
  const { check, choices } = props;
  const { status, message, evidence } = check;
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (choices === undefined || details.current === null) return;
    details.current.open = true;
    if (choices > 0) details.current.querySelector("summary")?.focus();
  }, [choices]);
  const isProblem = status === "fail" || status === "warn" || status === "error";
  return (
    <details ref={details} className={styles.finding} open={isProblem}>
      <summary>
        <CheckMark status={status} />
        <span className={styles.findingName}>
          {checkName(check)} <span className={styles.note}>{CHECK_STATUS[status].word}</span>
        </span>
        <ChevronDown size={16} aria-hidden className={styles.chevron} />
      </summary>
      <div className={styles.findingBody}>
        <Text size="sm">{message}</Text>
        {evidence.length === 0 ? null : (
          <dl className={styles.evidence}>
            {evidence.map(({ name, value }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code>
                </dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </details>
  );
}

function RunHistory({ provider, model }: ListingTrust) {
  const runs = useAnswer("GET /api/console/verification/runs", { query: { provider, model } });
  return (
    <Answer of={runs} rows={3}>
      {(answer) => (
        <DataTable
          caption={`Last conformance runs of ${model}`}
          columns={COLUMNS}
          rows={answer.runs}
          rowKey={({ checked_at, source }) => `${checked_at} ${source}`}
          empty="No conformance runs yet."
        />
      )}
    </Answer>
  );
}

function Flaws({ flaws }: { readonly flaws: readonly CheckFlaw[] }) {
  if (flaws.length === 0) return <>nothing</>;
  return (
    <ul className={styles.flaws}>
      {flaws.map((flaw) => (
        <li key={flaw.id}>
          <CheckMark status={flaw.status} />
          <span>
            {checkName(flaw)}, {CHECK_STATUS[flaw.status].word}: {flaw.message}
          </span>
        </li>
      ))}
    </ul>
  );
}

const COLUMNS: readonly Column<ConformanceRun>[] = [
  timeColumn("at", "Run", ({ checked_at }) => checked_at),
  column("verdict", "Verdict", ({ verdict }) => {
    const { word, tone } = RUN_VERDICT[verdict];
    return <StatusBadge tone={tone}>{word}</StatusBadge>;
  }),
  column("flaws", "Findings", ({ flaws }) => <Flaws flaws={flaws} />),
  column("source", "From", ({ source }) => RUN_SOURCE[source]),
  column("manifest", "Manifest", ({ is_current_manifest }) =>
    is_current_manifest ? "current" : "an earlier one",
  ),
];
