import { Anchor, Group } from "@mantine/core";
import { ExternalLink } from "lucide-react";

import type { Provider } from "../../api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Tip } from "../../ui/tip.tsx";
import { PROVIDER_STATUS, webAddress } from "./provider-labels.ts";

export function ProviderStatus({ status }: Pick<Provider, "status">) {
  const { word, tone, meaning } = PROVIDER_STATUS[status];
  return (
    <Tip label={meaning}>
      <span>
        <StatusBadge tone={tone}>{word}</StatusBadge>
      </span>
    </Tip>
  );
}

export function PolicyLinks({ provider }: { readonly provider: Provider }) {
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
