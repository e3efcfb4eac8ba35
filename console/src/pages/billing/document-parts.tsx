import { SimpleGrid, Text } from "@mantine/core";
import { Printer } from "lucide-react";
import { useEffect } from "react";

import type { CompanyData, Issuer } from "../../api/contract.ts";
import { useSession } from "../../api/use-answer.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { countryName } from "../../ui/format.ts";
import styles from "./statement.module.css";
import { DownloadLink, SmallButton } from "../../ui/buttons.tsx";
import { Note } from "../../ui/page.tsx";

export function StatementParties(props: {
  readonly company: CompanyData | null;
  readonly issuer: Issuer;
  /** The organization's name. Default: its current name. */
  readonly buyer?: string;
  /** True for a receipt: it keeps the company data of its purchase and has no link to edit it. */
  readonly isFrozen?: boolean;
}) {
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

function Party(props: { readonly title: string; readonly lines: readonly string[] }) {
  return (
    <div>
      <Note size="xs">{props.title}</Note>
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

/** Buttons that print a document, or download it from `base` with each format as extension. */
export function DocumentActions(props: {
  readonly base: string;
  readonly formats: readonly string[];
}) {
  useEffect(() => {
    globalThis.addEventListener("beforeprint", showLight);
    globalThis.addEventListener("afterprint", showAsBefore);
    return () => {
      globalThis.removeEventListener("beforeprint", showLight);
      globalThis.removeEventListener("afterprint", showAsBefore);
    };
  }, []);
  return (
    <div className={styles.actions}>
      <SmallButton
        leftSection={<Printer size={14} aria-hidden />}
        onClick={() => globalThis.print()}
      >
        Print
      </SmallButton>
      {props.formats.map((format) => (
        <DownloadLink key={format} href={`${props.base}.${format}`}>
          {format.toUpperCase()}
        </DownloadLink>
      ))}
    </div>
  );
}

const SCHEME = "data-mantine-color-scheme";
let before: string | null = null;

/** Called before printing: switches to light colors, even if the screen is dark. */
function showLight(): void {
  const { documentElement } = globalThis.document;
  before = documentElement.getAttribute(SCHEME);
  documentElement.setAttribute(SCHEME, "light");
}

function showAsBefore(): void {
  if (before !== null) globalThis.document.documentElement.setAttribute(SCHEME, before);
}
