import { Group } from "@mantine/core";
import type { ReactElement } from "react";

import type { ListingTrust } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { CheckMark } from "./check-mark.tsx";
import { TrustBadges } from "./trust-badges.tsx";
import { CHECK_STATUS, checkName } from "./verification-labels.ts";
import styles from "./verification.module.css";

export function ListingVerdict({ trust }: { readonly trust: ListingTrust }): ReactElement {
  return (
    <div className={styles.verdict}>
      <TrustBadges trust={trust} />
      {trust.flaws.map((flaw) => (
        <Group key={flaw.id} gap={5} mih={26} wrap="nowrap">
          <CheckMark status={flaw.status} />
          <FindingLink trust={trust} check={flaw.id}>
            {`${checkName(flaw)}: ${CHECK_STATUS[flaw.status].word}`}
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
}): ReactElement {
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
