import { Button, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";

import type { CompanyData, CompanyPage as Answered } from "../../api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { Answer, Fault } from "../../ui/answer.tsx";
import { controlled, fieldError, submitting } from "../../ui/fields.ts";
import { notifyDone } from "../../ui/notice.ts";
import { ForRole, Page, Panel, RoleNote } from "../../ui/page.tsx";

const LEAD = "Printed on statements, and on the invoices of purchases that you start from now on.";

export function CompanyPage() {
  const answer = useAnswer("GET /api/console/company");
  return (
    <Page title="Company data" lead={LEAD} crumbs={[{ label: "Billing", to: "/billing" }]}>
      <Answer of={answer} rows={8}>
        {({ company }) => (
          <>
            <RoleNote need="billing" what="change company data" />
            <ForRole need="billing">
              {/* The React key starts the form anew when another member changed the data. */}
              <CompanyForm key={JSON.stringify(company)} company={company} />
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

function CompanyForm({ company }: { readonly company: Answered["company"] }) {
  const [typed, setTyped] = useState({
    legal_name: company?.legal_name ?? "",
    address_lines: (company?.address_lines ?? []).join("\n"),
    postal_code: company?.postal_code ?? "",
    city: company?.city ?? "",
    country: company?.country ?? "",
    "tax_id.value": company?.tax_id?.value ?? "",
    purchase_order: company?.purchase_order ?? "",
  });
  const [taxType, setTaxType] = useState(company?.tax_id?.type ?? "eu_vat");
  const change = useChange("POST /api/console/company", ["GET /api/console/company"]);

  function save(): void {
    const { "tax_id.value": taxId, ...texts } = typed;
    const body: CompanyData = {
      ...texts,
      address_lines: typed.address_lines.split("\n").filter((line) => line.trim() !== ""),
      country: typed.country.trim().toUpperCase(),
      tax_id: taxId.trim() === "" ? null : { type: taxType, value: taxId },
    };
    change.mutate({ body }, { onSuccess: () => notifyDone("Company data was saved") });
  }

  const field = (name: keyof typeof typed, label: string, maxLength: number) => ({
    label,
    maxLength,
    ...controlled(typed[name], (text) => setTyped({ ...typed, [name]: text })),
    error: fieldError(change.error, name),
    autoComplete: "on",
    w: "100%",
  });
  return (
    <Panel title="Your company">
      <form {...submitting(save)}>
        <Stack gap="md" maw={480} align="flex-start">
          <TextInput required {...field("legal_name", "Legal name", 200)} />
          <Textarea
            required
            description="Street address, up to three lines."
            {...field("address_lines", "Address", 302)}
          />
          <TextInput {...field("postal_code", "Postal code", 20)} />
          <TextInput required {...field("city", "City", 100)} />
          <TextInput
            required
            description="Two letters, such as US or DE."
            {...field("country", "Country code", 2)}
          />
          <NativeSelect
            label="Kind of tax ID"
            data={TAX_IDS.map(([value, label]) => ({ value, label }))}
            {...controlled(taxType, setTaxType)}
            w="100%"
          />
          <TextInput
            description="Only the format is checked. Leave blank if you have none."
            {...field("tax_id.value", "Tax ID", 40)}
          />
          <TextInput {...field("purchase_order", "Purchase order", 30)} />
          {change.isError ? <Fault error={change.error} /> : null}
          <Button type="submit" loading={change.isPending}>
            Save company data
          </Button>
        </Stack>
      </form>
    </Panel>
  );
}
