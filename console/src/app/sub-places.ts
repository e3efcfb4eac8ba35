import { GUIDES } from "../pages/docs/guide-list.ts";
import type { Place } from "./places.ts";

export interface SubPlace extends Omit<Place, "letter" | "group"> {
  readonly group: "Pages" | "Docs" | "Actions";
  readonly search?: Readonly<Record<string, string>>;
}

/** Pages and actions of the palette that `PLACES` lacks. */
export const SUB_PLACES: readonly SubPlace[] = [
  { ...place("Actions", "/keys", "Create key", "new api key"), search: { create: "1" } },
  place("Actions", "/billing", "Add credit", "buy pay top up"),
  place("Pages", "/welcome", "First steps", "welcome start"),
  { ...place("Pages", "/models/compare", "Compare models"), isPublic: true },
  place("Pages", "/billing/statements", "Statements", "invoice month"),
  place("Pages", "/billing/company", "Company data", "address tax id vat"),
  place("Pages", "/settings/alerts", "Alerts", "email webhooks low balance notifications"),
  place("Pages", "/settings/organization", "Organization", "rename export data"),
  place("Pages", "/settings/members", "Members", "team invite roles people"),
  place("Pages", "/settings/changes", "Changes", "audit who changed what"),
  operatorPage("/operator/organizations", "Organizations"),
  operatorPage("/operator/review", "Restrictions and review"),
  operatorPage("/operator/listings", "Listings and circuits"),
  operatorPage("/operator/settlement", "Settlement"),
  place("Docs", "/docs/reference", "API reference", "openapi routes"),
  ...GUIDES.map(([name, title]) => place("Docs", `/docs/${name}`, title)),
];

/** A place that is public if it is in the docs. */
function place(group: SubPlace["group"], to: string, label: string, keywords = ""): SubPlace {
  return { group, to, label, keywords, isPublic: group === "Docs" };
}

function operatorPage(to: string, label: string): SubPlace {
  return { ...place("Pages", to, `Operator: ${label}`), isForOperators: true };
}
