import { Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { Page, type PageProps } from "../../ui/page.tsx";
import styles from "./operator.module.css";

const TABS = [
  { to: "/operator", label: "Business" },
  { to: "/operator/organizations", label: "Organizations" },
  { to: "/operator/review", label: "Needs review" },
  { to: "/operator/listings", label: "Listings" },
  { to: "/operator/settlement", label: "Settlement" },
  { to: "/operator/changes", label: "Changes" },
  { to: "/operator/health", label: "Health" },
] as const;

export function OperatorPage({ children, ...page }: PageProps): ReactElement {
  return (
    <Page {...page}>
      <nav aria-label="Operator pages">
        <Group gap="xs">
          {TABS.map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              className={styles["tab"]}
              activeOptions={{ exact: to === "/operator", includeSearch: false }}
            >
              {label}
            </Link>
          ))}
        </Group>
      </nav>
      {children}
    </Page>
  );
}
