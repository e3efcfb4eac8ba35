import { createContext, useEffect, useId, type ComponentProps, type ReactNode } from "react";
import { Breadcrumbs, Group, Paper, Stack, Text, Title, type TextProps } from "@mantine/core";

import { roleNote } from "../../../src/kernel/core/roles.ts";
import { type Need, useMay, useSession } from "../api/use-answer.ts";
import { AppLink } from "./app-link.tsx";
import { formatCount } from "./format.ts";
import kit from "./kit.module.css";
import { Time } from "./time.tsx";

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

export interface PanelProps {
  readonly id?: string;
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

export function Panel({ id: place, title, actions, children }: PanelProps) {
  const id = useId();
  return (
    <Paper
      component="section"
      id={place}
      withBorder
      className={kit.panel}
      {...(title === undefined ? {} : { "aria-labelledby": id })}
    >
      {title === undefined && actions === undefined ? null : (
        <Group justify="space-between" gap="xs" mb="md">
          {title === undefined ? null : (
            <Title order={2} size="h4" id={id}>
              {title}
            </Title>
          )}
          {actions}
        </Group>
      )}
      {children}
    </Paper>
  );
}

/** A dimmed text that explains the content next to it. */
export function Note(props: TextProps & Omit<ComponentProps<"p">, keyof TextProps>) {
  return <Text size="sm" c="dimmed" {...props} />;
}

/** Below a list of at most `max` rows. If the list is full, says that older rows are left out. */
export function NewestNote(props: {
  readonly rows: readonly unknown[];
  readonly max: number;
  /** A sentence that says where the older rows are. */
  readonly older: string;
}) {
  if (props.rows.length < props.max) return null;
  return (
    <Note mt="xs">
      The newest {formatCount(props.max)} are listed. {props.older}
    </Note>
  );
}

/** Says how old figures from a replica are. Shows nothing if `at` is absent (current figures). */
export function AsOf({ at }: { readonly at: string | undefined }) {
  if (at === undefined) return null;
  return (
    <Note role="note">
      As of <Time at={at} precision="second" />
    </Note>
  );
}

/** Says which roles may do something. Shows nothing if the reader's own role may do it. */
export function RoleNote(props: { readonly need: Need; readonly what: string }) {
  const isAllowed = useMay(props.need);
  const role = useSession().org?.role;
  if (isAllowed || role === undefined) return null;
  return <Note role="note">{roleNote(props.need, props.what, role)}</Note>;
}

/** Disables a form for people whose role may not submit it. They can still read it. */
export function ForRole(props: { readonly need: Need; readonly children: ReactNode }) {
  return (
    <fieldset disabled={!useMay(props.need)} className={kit.forRole}>
      {props.children}
    </fieldset>
  );
}
