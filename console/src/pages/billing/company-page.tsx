import { Button, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { useState, type FormEvent, type ReactNode } from "react";

import type {
  CompanyData,
  CompanyPage as Answered,
} from "../../../../src/account/console-api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { Fault } from "../../ui/fault.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { ForRole } from "../../ui/for-role.tsx";
import { Loading } from "../../ui/loading.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RoleNote } from "../../ui/role-note.tsx";

const LEAD = "Printed on statements, and on the invoices of purchases that you start from now on.";

/** `/billing/company`: the organization's data for statements and invoices. */
export function CompanyPage(): ReactNode {
  const answer = useAnswer("GET /api/console/company");
  return (
    <Page title="Company data" lead={LEAD} crumbs={[{ label: "Billing", to: "/billing" }]}>
      <Answer of={answer} skeleton={<Loading rows={8} />}>
        {({ company }) => (
          <>
            <RoleNote need="billing" what="change company data" />
            <ForRole need="billing">
              <CompanyForm company={company} />
            </ForRole>
          </>
        )}
      </Answer>
    </Page>
  );
}

const TAX_IDS: readonly (readonly [NonNullable<CompanyData["tax_id"]>["type"], string])[] = [
  ["eu_vat", "EU VAT"],
  ["gb_vat", "UK VAT"],
  ["ch_vat", "Swiss VAT"],
  ["no_vat", "Norwegian VAT"],
  ["us_ein", "US EIN"],
  ["ca_bn", "Canadian business number"],
  ["au_abn", "Australian ABN"],
  ["nz_gst", "New Zealand GST"],
  ["in_gst", "Indian GST"],
  ["jp_trn", "Japanese registration number"],
  ["sg_gst", "Singapore GST"],
  ["br_cnpj", "Brazilian CNPJ"],
  ["other", "Other"],
];

function CompanyForm({ company }: { readonly company: Answered["company"] }): ReactNode {
  const [name, setName] = useState(company?.legal_name ?? "");
  const [lines, setLines] = useState((company?.address_lines ?? []).join("\n"));
  const [postalCode, setPostalCode] = useState(company?.postal_code ?? "");
  const [city, setCity] = useState(company?.city ?? "");
  const [country, setCountry] = useState(company?.country ?? "");
  const [taxType, setTaxType] = useState(company?.tax_id?.type ?? "eu_vat");
  const [taxId, setTaxId] = useState(company?.tax_id?.value ?? "");
  const [email, setEmail] = useState(company?.billing_email ?? "");
  const [order, setOrder] = useState(company?.purchase_order ?? "");
  const change = useChange("POST /api/console/company", {
    refreshes: ["GET /api/console/company"],
  });

  function save(event: FormEvent): void {
    event.preventDefault();
    const typed = lines.split("\n").filter((line) => line.trim() !== "");
    const body: CompanyData = {
      legal_name: name,
      address_lines: typed,
      postal_code: postalCode,
      city,
      country: country.trim().toUpperCase(),
      tax_id: taxId.trim() === "" ? null : { type: taxType, value: taxId },
      billing_email: email,
      purchase_order: order,
    };
    change.mutate({ body }, { onSuccess: () => notifyDone("Company data was saved") });
  }

  const problem = (field: string): string | undefined => fieldError(change.error, field);
  const field = (label: string, value: string, set: (to: string) => void, max: number) => ({
    label,
    value,
    maxLength: max,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      set(event.currentTarget.value),
    w: "100%",
  });
  return (
    <Panel title="Your company">
      <form onSubmit={save}>
        <Stack gap="md" maw={480} align="flex-start">
          <TextInput
            required
            {...field("Legal name", name, setName, 200)}
            error={problem("legal_name")}
          />
          <Textarea
            required
            autosize
            minRows={2}
            description="Street address, up to three lines."
            {...field("Address", lines, setLines, 302)}
            error={problem("address_lines")}
          />
          <TextInput
            {...field("Postal code", postalCode, setPostalCode, 20)}
            error={problem("postal_code")}
          />
          <TextInput required {...field("City", city, setCity, 100)} error={problem("city")} />
          <TextInput
            required
            description="Two letters, such as US or DE."
            {...field("Country code", country, setCountry, 2)}
            error={problem("country")}
          />
          <NativeSelect
            label="Kind of tax ID"
            data={TAX_IDS.map(([value, label]) => ({ value, label }))}
            value={taxType}
            onChange={(event) => setTaxType(event.currentTarget.value as typeof taxType)}
            w="100%"
          />
          <TextInput
            description="Only the format is checked. Leave blank if you have none."
            {...field("Tax ID", taxId, setTaxId, 40)}
            error={problem("tax_id.value")}
          />
          <TextInput
            type="email"
            {...field("Billing e-mail", email, setEmail, 254)}
            error={problem("billing_email")}
          />
          <TextInput
            {...field("Purchase order", order, setOrder, 30)}
            error={problem("purchase_order")}
          />
          {change.isError ? <Fault error={change.error} /> : null}
          <Button type="submit" loading={change.isPending}>
            Save company data
          </Button>
        </Stack>
      </form>
    </Panel>
  );
}
