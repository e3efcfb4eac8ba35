import { CircleAlert, CircleCheck, CircleHelp, CircleMinus, CircleX } from "lucide-react";
import { Group } from "@mantine/core";

import type { CheckFinding, ListingTrust, QueryOf } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useIsSignedIn } from "../models/use-served.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Time } from "../../ui/time.tsx";
import {
  checkLabel,
  CHECK_STATUS,
  overbilledWords,
  TRUST,
  type TrustCount,
} from "./verification-labels.ts";
import styles from "./verification.module.css";
import kit from "../../ui/kit.module.css";
import { formatCount } from "../../ui/format.ts";
import { AppLink } from "../../ui/app-link.tsx";

/** The trust in each listing. Undefined while it loads, and for visitors. */
export function useTrusts(
  query?: QueryOf<"GET /api/console/verification">,
): readonly ListingTrust[] | undefined {
  const asked = query === undefined ? undefined : { query };
  const options = { enabled: useIsSignedIn() };
  return useAnswer("GET /api/console/verification", asked, options).data?.listings;
}

export function TrustBadges({ trust }: { readonly trust: ListingTrust }) {
  const { state, suspect, checked_at } = trust;
  const { tone, word } = TRUST[state];
  const billing = overbilledWords(trust.overbilled_percent);
  return (
    <div className={styles.trust}>
      <div className={styles.badges}>
        <StatusBadge tone={tone}>{word}</StatusBadge>
        {billing === undefined ? null : <StatusBadge tone="bad">{billing}</StatusBadge>}
        {suspect === null ? null : <StatusBadge tone="warn">Suspect</StatusBadge>}
      </div>
      {checked_at === null ? null : (
        <span className={styles.note}>
          <Time at={checked_at} precision="day" />
          {trust.ends_at === null ? null : (
            <>
              {", "}
              {state === "expired" ? "ended" : "until"} <Time at={trust.ends_at} precision="day" />
            </>
          )}
        </span>
      )}
    </div>
  );
}

/** Each status has its own shape, not only its own color. */
export function CheckMark(props: { readonly status: CheckFinding["status"] }) {
  const Mark = MARKS[props.status];
  const tone = kit[`tone-${CHECK_STATUS[props.status].tone}`];
  return <Mark size={16} aria-hidden className={`${styles.mark} ${tone}`} />;
}

const MARKS = {
  pass: CircleCheck,
  warn: CircleAlert,
  fail: CircleX,
  skip: CircleMinus,
  error: CircleHelp,
} as const;

export function TrustSummary({ count }: { readonly count: TrustCount }) {
  const { listed, verified, failed, suspect } = count;
  const billing = overbilledWords(count.overbilledPercent);
  return (
    <div className={styles.badges}>
      <span className={kit.figures}>
        {formatCount(verified)} of {formatCount(listed)}
      </span>
      {failed === 0 ? null : <StatusBadge tone="bad">{formatCount(failed)} failed</StatusBadge>}
      {billing === undefined ? null : <StatusBadge tone="bad">{billing}</StatusBadge>}
      {suspect === 0 ? null : <StatusBadge tone="warn">{formatCount(suspect)} suspect</StatusBadge>}
    </div>
  );
}

export function ListingVerdict({ trust }: { readonly trust: ListingTrust }) {
  return (
    <div className={styles.verdict}>
      <TrustBadges trust={trust} />
      {trust.flaws.map((flaw) => (
        <Group key={flaw.id} gap={5} mih={26} wrap="nowrap">
          <CheckMark status={flaw.status} />
          <FindingLink trust={trust} check={flaw.id}>
            {checkLabel(flaw)}
          </FindingLink>
        </Group>
      ))}
      {trust.flaws.length > 0 || trust.verdict === null ? null : (
        <FindingLink trust={trust}>All checks</FindingLink>
      )}
    </div>
  );
}

function FindingLink(props: {
  readonly trust: ListingTrust;
  readonly check?: string;
  readonly children: string;
}) {
  const { provider, model } = props.trust;
  return (
    <AppLink
      to="/providers/$providerId"
      params={{ providerId: provider }}
      search={{ listing: model, check: props.check }}
      size="xs"
    >
      {props.children}
    </AppLink>
  );
}
