import { Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";

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

const CRUMBS = [{ label: "Operator", to: "/operator" }];
const FRESH =
  "Changes need a sign-in within the last 12 hours and are in the change log under your account.";

/** A page for operators. With `isChanging`, it says that changes need a recent sign-in. */
export function OperatorPage({
  children,
  isChanging = false,
  ...page
}: PageProps & { readonly isChanging?: boolean }) {
  return (
    <Page crumbs={CRUMBS} {...(isChanging && { lead: FRESH })} {...page}>
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
