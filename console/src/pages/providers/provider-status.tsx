import type { ReactElement } from "react";

import type { Provider } from "../../../../src/account/console-api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Tip } from "../../ui/tip.tsx";
import { PROVIDER_STATUS } from "./provider-labels.ts";

export function ProviderStatus(props: { readonly status: Provider["status"] }): ReactElement {
  const { word, tone, meaning } = PROVIDER_STATUS[props.status];
  return (
    <Tip label={meaning}>
      <span>
        <StatusBadge tone={tone}>{word}</StatusBadge>
      </span>
    </Tip>
  );
}
