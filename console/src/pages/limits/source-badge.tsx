import { Badge } from "@mantine/core";
import type { ReactNode } from "react";

import type { LimitValue } from "../../../../src/account/console-api/contract.ts";

export function SourceBadge({ source }: { readonly source: LimitValue["source"] }): ReactNode {
  if (source === null) return null;
  return (
    <Badge
      variant="default"
      radius="sm"
      tt="none"
      fw={500}
      size="sm"
      miw="max-content"
      title={MEANINGS[source]}
    >
      {LABELS[source]}
    </Badge>
  );
}

const LABELS = {
  default: "Default",
  contract: "Contract",
  self: "Your limit",
  unfunded: "No credit yet",
} as const;

const MEANINGS = {
  default: "Same for every organization",
  contract: "Agreed with your organization. Only the operator can change it.",
  self: "Set by your organization",
  unfunded: "Until you add credit",
} as const;
