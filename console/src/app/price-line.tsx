import { Button } from "@mantine/core";
import type { ReactElement } from "react";

import type { PriceNotice } from "../api/contract.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Banner } from "../ui/banner.tsx";
import { Time } from "../ui/time.tsx";
import { costLine, priceLines } from "./price-notice-text.ts";

export default function PriceLine(props: {
  readonly notice: PriceNotice;
  readonly more: ReactElement | null;
  readonly onDismiss: () => void;
}) {
  const { notice, more, onDismiss } = props;
  const { name, provider_name, from, is_rise, model } = notice;
  return (
    <Banner
      tone={is_rise ? "warn" : "info"}
      action={
        <>
          <Button
            size="compact-sm"
            variant="subtle"
            aria-label={`Dismiss the notice about ${name}`}
            onClick={onDismiss}
          >
            Dismiss
          </Button>
          {more}
        </>
      }
    >
      {is_rise ? "Prices rise" : "Prices change"} on <Time at={from} />:{" "}
      <AppLink to="/models/$" params={{ _splat: model }}>
        {name}
      </AppLink>{" "}
      at {provider_name}, per million tokens: {priceLines(notice).join(", ")}. Your last 30 days
      cost {costLine(notice)}.
    </Banner>
  );
}
