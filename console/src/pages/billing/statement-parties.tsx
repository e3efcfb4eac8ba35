import { SimpleGrid, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { CompanyData, Issuer } from "../../../../src/account/console-api/contract.ts";
import { useSession } from "../../api/use-session.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { countryName } from "../../ui/country-name.ts";
import styles from "./statement.module.css";

export function StatementParties(props: {
  readonly company: CompanyData | null;
  readonly issuer: Issuer;
  /** The organization's name. Default: its current name. */
  readonly buyer?: string;
  /** True for a past document: later changes of the company data do not change it. */
  readonly isFrozen?: boolean;
}): ReactNode {
  const { company, issuer, isFrozen = false } = props;
  const { org } = useSession();
  const name = props.buyer ?? org?.name ?? "";
  const from = [issuer.name ?? `Token Market at ${issuer.url}`, ...issuer.address_lines];
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <Party
        title="From"
        lines={[
          ...from,
          issuer.tax_id === null ? "" : `Tax ID ${issuer.tax_id}`,
          issuer.note ?? "",
        ]}
      />
      {company === null ? (
        <div>
          <Party title="To" lines={[name]} />
          {isFrozen ? null : (
            <AppLink to="/billing/company" size="sm" className={styles.actions}>
              Add company data
            </AppLink>
          )}
        </div>
      ) : (
        <Party title="To" lines={listLines(company)} />
      )}
    </SimpleGrid>
  );
}

function listLines(company: CompanyData): readonly string[] {
  const { tax_id: taxId, purchase_order: order } = company;
  return [
    company.legal_name,
    ...company.address_lines,
    `${company.postal_code} ${company.city}`.trim(),
    countryName(company.country),
    taxId === null ? "" : `Tax ID ${taxId.value}`,
    order === "" ? "" : `Purchase order ${order}`,
  ];
}

function Party(props: { readonly title: string; readonly lines: readonly string[] }): ReactNode {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {props.title}
      </Text>
      {props.lines
        .filter((line) => line !== "")
        .map((line) => (
          <Text key={line} size="sm">
            {line}
          </Text>
        ))}
    </div>
  );
}
