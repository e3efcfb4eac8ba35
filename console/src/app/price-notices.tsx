import { Button, Text } from "@mantine/core";
import { useState, type ReactElement } from "react";

import type { PriceNotice } from "../../../src/console-api/contract.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Banner } from "../ui/banner.tsx";
import { Time } from "../ui/time.tsx";
import { dismiss, readDismissed } from "./dismissed.ts";
import { costLine, priceLines } from "./price-notice-text.ts";

const SHOWN_MAX = 3;

/** Announced prices of models that the organization uses; each can be dismissed in this browser. */
export default function PriceNotices(props: {
  readonly notices: readonly PriceNotice[];
}): ReactElement | null {
  const [dismissed, setDismissed] = useState(readDismissed);
  const open = props.notices.filter(({ notice_id }) => !dismissed.includes(notice_id));
  if (open.length === 0) return null;
  const more = open.length - SHOWN_MAX;
  return (
    <>
      {open.slice(0, SHOWN_MAX).map((notice) => (
        <NoticeBanner
          key={notice.notice_id}
          notice={notice}
          onDismiss={() => setDismissed(dismiss(notice.notice_id))}
        />
      ))}
      {more > 0 ? (
        <Text size="sm" c="dimmed" px="md">
          {more} more {more === 1 ? "listing" : "listings"} that you use will change in price.
        </Text>
      ) : null}
    </>
  );
}

function NoticeBanner(props: {
  readonly notice: PriceNotice;
  readonly onDismiss: () => void;
}): ReactElement {
  const { notice, onDismiss } = props;
  const { name, provider_name, from, is_rise, model } = notice;
  return (
    <Banner
      tone={is_rise ? "warn" : "info"}
      action={
        <Button
          size="compact-sm"
          variant="subtle"
          aria-label={`Dismiss the notice about ${name}`}
          onClick={onDismiss}
        >
          Dismiss
        </Button>
      }
    >
      {is_rise ? "Prices rise" : "Prices change"} on <Time at={from} />:{" "}
      <AppLink to="/models/$" params={{ _splat: model }}>
        {name}
      </AppLink>{" "}
      at {provider_name}, for a million tokens: {priceLines(notice).join(", ")}. Your last 30 days
      of it: {costLine(notice)}.
    </Banner>
  );
}
