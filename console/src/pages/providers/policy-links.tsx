import { Anchor, Group } from "@mantine/core";
import { ExternalLink } from "lucide-react";
import type { ReactElement } from "react";

import type { Provider } from "../../../../src/account/console-api/contract.ts";
import { webAddress } from "./provider-labels.ts";

export interface PolicyLinksProps {
  readonly provider: Provider;
}

export function PolicyLinks({ provider }: PolicyLinksProps): ReactElement {
  const links = [
    { label: "Privacy", address: webAddress(provider.privacy_policy_url) },
    { label: "Terms", address: webAddress(provider.terms_of_service_url) },
    { label: "Status page", address: webAddress(provider.status_page_url) },
  ];
  return (
    <Group gap="sm" wrap="nowrap">
      {links.map(({ label, address }) =>
        address === undefined ? null : (
          <Anchor
            key={label}
            href={address}
            target="_blank"
            rel="noreferrer noopener"
            size="sm"
            aria-label={`${label} of ${provider.name}, in a new tab`}
            style={{ whiteSpace: "nowrap" }}
          >
            {label} <ExternalLink size={12} aria-hidden />
          </Anchor>
        ),
      )}
    </Group>
  );
}
