import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";

import type { Provider } from "../../../../src/console-api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { PROVIDER_STATUS } from "./provider-labels.ts";

/** Healthy, cooling down or circuit open: as a word, a mark and a colour. */
export function ProviderStatus(props: { readonly status: Provider["status"] }): ReactElement {
  const { word, tone, meaning } = PROVIDER_STATUS[props.status];
  return (
    <Tooltip label={meaning} multiline maw={280}>
      <span>
        <StatusBadge tone={tone}>{word}</StatusBadge>
      </span>
    </Tooltip>
  );
}
