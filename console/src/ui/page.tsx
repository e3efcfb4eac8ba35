import { createContext, useEffect, type ReactNode } from "react";
import { Breadcrumbs, Group, Stack, Text, Title } from "@mantine/core";

import { AppLink } from "./app-link.tsx";
import kit from "./kit.module.css";
import { Note } from "./note.tsx";

export interface Crumb {
  readonly label: string;
  readonly to: string;
}

/** The parent of the current page. A "not found" message links to it. */
export const PageAbove = createContext<Crumb | undefined>(undefined);

export interface PageProps {
  readonly title: string;
  /** The pages above this page, the outermost first. */
  readonly crumbs?: readonly Crumb[];
  readonly actions?: ReactNode;
  readonly lead?: ReactNode;
  /** If true, the page is up to 1840 pixels wide instead of 1320. */
  readonly isWide?: boolean;
  readonly children?: ReactNode;
}

/** A page with its title. The title is also that of the browser tab, and the page's only `h1`. */
export function Page({ title, crumbs = [], actions, lead, isWide, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Token Market`;
  }, [title]);
  return (
    <Stack gap="lg" className={isWide === true ? `${kit.page} ${kit.pageWide}` : kit.page}>
      <Stack gap={4}>
        {crumbs.length === 0 ? null : <Crumbs crumbs={crumbs} title={title} />}
        <Group justify="space-between" align="flex-start" gap="sm">
          <Title order={1} size="h2" className={kit.pageTitle}>
            {title}
          </Title>
          {actions === undefined ? null : <Group gap="xs">{actions}</Group>}
        </Group>
        {lead === undefined ? null : (
          <Text component="div" size="sm" c="dimmed" className={kit.lead}>
            {lead}
          </Text>
        )}
      </Stack>
      <PageAbove value={crumbs.at(-1)}>{children}</PageAbove>
    </Stack>
  );
}

function Crumbs(props: { readonly crumbs: readonly Crumb[]; readonly title: string }) {
  return (
    <nav aria-label="Breadcrumbs">
      <Breadcrumbs separatorMargin={6}>
        {props.crumbs.map(({ label, to }) => (
          <AppLink key={to} to={to} size="sm" lh="xs">
            {label}
          </AppLink>
        ))}
        <Note aria-current="page" lh="xs" truncate maw="40vw">
          {props.title}
        </Note>
      </Breadcrumbs>
    </nav>
  );
}
