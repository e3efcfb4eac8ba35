import { Anchor } from "@mantine/core";
import { ExternalLink } from "lucide-react";
import type { ReactElement } from "react";

import type { ModelProvider } from "../../../../src/account/console-api/contract.ts";
import { webAddress } from "../providers/provider-labels.ts";
import { labelChecked } from "./price-rows.ts";

export function CheckedNote({ listing }: { readonly listing: ModelProvider }): ReactElement {
  const { checked, name } = listing;
  const address = webAddress(checked?.url ?? null);
  if (address === undefined) return <>{labelChecked(checked)}</>;
  return (
    <Anchor
      href={address}
      target="_blank"
      rel="noreferrer noopener"
      size="sm"
      aria-label={`${labelChecked(checked)}: prices of ${name}, in a new tab`}
    >
      {labelChecked(checked)} <ExternalLink size={12} aria-hidden />
    </Anchor>
  );
}
