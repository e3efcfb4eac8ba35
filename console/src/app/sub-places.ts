import { GUIDES } from "../pages/docs/guide-list.ts";
import type { Place } from "./places.ts";

export interface SubPlace extends Pick<Place, "isPublic" | "isForOperators" | "keywords"> {
  readonly to: string;
  readonly label: string;
  readonly group: "Pages" | "Docs" | "Actions";
  readonly search?: Readonly<Record<string, string>>;
}

/** Pages and actions of the palette that `PLACES` lacks. */
export const SUB_PLACES: readonly SubPlace[] = [
  {
    to: "/keys",
    search: { create: "1" },
    label: "Create key",
    group: "Actions",
    keywords: "new api key",
  },
  { to: "/billing", label: "Add credit", group: "Actions", keywords: "buy pay top up" },
  { to: "/welcome", label: "First steps", group: "Pages", keywords: "welcome start" },
  { to: "/models/compare", label: "Compare models", group: "Pages", isPublic: true },
  { to: "/billing/statements", label: "Statements", group: "Pages", keywords: "invoice month" },
  { to: "/billing/company", label: "Company data", group: "Pages", keywords: "address tax id vat" },
  {
    to: "/settings/alerts",
    label: "Alerts",
    group: "Pages",
    keywords: "email webhooks low balance notifications",
  },
  {
    to: "/settings/organization",
    label: "Organization",
    group: "Pages",
    keywords: "rename export data",
  },
  {
    to: "/settings/members",
    label: "Members",
    group: "Pages",
    keywords: "team invite roles people",
  },
  { to: "/settings/changes", label: "Changes", group: "Pages", keywords: "audit who changed what" },
  ...operatorPages({
    "/operator/organizations": "Organizations",
    "/operator/review": "Restrictions and review",
    "/operator/listings": "Listings and circuits",
    "/operator/settlement": "Settlement",
  }),
  {
    to: "/docs/reference",
    label: "API reference",
    group: "Docs",
    isPublic: true,
    keywords: "openapi routes",
  },
  ...GUIDES.map(([name, title]) => {
    return { to: `/docs/${name}`, label: title, group: "Docs", isPublic: true } as const;
  }),
];

function operatorPages(labels: Readonly<Record<string, string>>): readonly SubPlace[] {
  return Object.entries(labels).map(([to, label]) => {
    return { to, label: `Operator: ${label}`, group: "Pages", isForOperators: true } as const;
  });
}
