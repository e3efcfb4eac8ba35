import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { fetchOk } from "../../api/client.ts";
import { Fault } from "../../ui/answer.tsx";
import { Note, Page, type PageProps } from "../../ui/page.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { type SideGroup, SidePages } from "../../ui/side-pages.tsx";
import { GUIDES } from "./guide-list.ts";
import { slugOf, splitSections } from "./markdown-blocks.ts";
import type { OperationView } from "./openapi-rows.ts";
import { useOperations } from "./use-operations.ts";
import styles from "./docs.module.css";

interface DocsFrameProps extends PageProps {
  readonly sections?: readonly { readonly id: string; readonly label: string }[];
  /** The routes in the menu. */
  readonly operations?: readonly OperationView[];
}

export function DocsFrame({ sections = [], operations = [], ...page }: DocsFrameProps) {
  const [query, setQuery] = useState("");
  const { found, told, failed } = useDocsSearch(query);
  const { length } = sections;
  // The sections are loaded after the page, so the browser cannot scroll to one of them itself.
  useEffect(() => {
    const id = globalThis.location.hash.slice(1);
    if (length > 0 && id !== "") document.querySelector(`#${CSS.escape(id)}`)?.scrollIntoView();
  }, [length]);
  return (
    <SidePages
      label="Docs"
      head={
        <div className={styles.search}>
          <SearchField label="Search docs" value={query} onChange={setQuery} />
          <Note role="status">{told}</Note>
          {failed === undefined ? null : (
            <Fault error={failed.error} retry={() => void failed.refetch()} />
          )}
        </div>
      }
      groups={query.trim() === "" ? groupsOf(operations) : [{ label: "Results", links: found }]}
    >
      <div className={styles.body}>
        <Page crumbs={page.title === "Docs" ? [] : [{ label: "Docs", to: "/docs" }]} {...page} />
        {sections.length < 2 ? null : (
          <nav aria-label="On this page" className={styles.sections}>
            <div>On this page</div>
            {sections.map(({ id, label }) => (
              <Link key={id} to="." hash={id}>
                {label}
              </Link>
            ))}
          </nav>
        )}
      </div>
    </SidePages>
  );
}

function groupsOf(operations: readonly OperationView[]): readonly SideGroup[] {
  return [
    { label: "Start", links: [{ to: "/docs", label: "Overview" }] },
    {
      label: "Guides",
      links: GUIDES.map(([name, title]) => ({ to: `/docs/${name}`, label: title })),
    },
    {
      label: "API reference",
      links: [
        { to: "/docs/reference", label: "All routes" },
        ...operations.map(({ id, name }) => ({ to: `/docs/reference/${id}`, label: name })),
      ],
    },
  ];
}

const FOUND_MAX = 20;

interface Section {
  readonly to: string;
  readonly hash: string;
  readonly label: string;
  readonly text: string;
}

interface DocsSearch {
  readonly found: SideGroup["links"];
  /** Says how many results there are; blank before a search, and if a part of it failed. */
  readonly told: string;
  /** The part that could not be read. */
  readonly failed?: { readonly error: unknown; readonly refetch: () => unknown } | undefined;
}

/** Finds guide sections and operations that contain every word. Matches in the name come first. */
function useDocsSearch(query: string): DocsSearch {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = words.length > 0;
  const guides = useQuery({
    queryKey: ["guides"],
    queryFn: ({ signal }) => fetchOk("/llms-full.txt", { signal }, (answer) => answer.text()),
    enabled: isWanted,
  });
  const operations = useOperations(isWanted);
  if (!isWanted) return { found: [], told: "" };
  const all = [...sectionsOf(guides.data ?? ""), ...(operations.data ?? []).map(sectionOf)];
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const named = all.filter(({ label }) => has(label));
  const others = all.filter(({ label, text }) => !has(label) && has(`${label} ${text}`));
  const ranked = [...named, ...others];
  const found = ranked.slice(0, FOUND_MAX);
  if (guides.isPending || operations.isPending) return { found, told: "Searching…" };
  const failed = [guides, operations].find(({ data }) => data === undefined);
  return { found, failed, told: failed === undefined ? countFound(ranked.length) : "" };
}

function countFound(count: number): string {
  if (count === 0) return "No results";
  if (count > FOUND_MAX) return `The first ${FOUND_MAX} of ${count} results`;
  return count === 1 ? "1 result" : `${count} results`;
}

/** Splits `llms-full.txt`, where each guide begins with a line `Source: …`, into sections. */
function sectionsOf(text: string): readonly Section[] {
  return text.split(/^Source: \S+\/docs\/(?=[a-z-]+\.md$)/m).flatMap((guide) => {
    const [, name, body] = /^([a-z-]+)\.md\n([\s\S]*)$/.exec(guide) ?? [];
    if (name === undefined || body === undefined) return [];
    const [, title = name] = /^# (.*)$/m.exec(body) ?? [];
    return splitSections(body).flatMap((section) => {
      const [, marks, heading = title] = /^(##?) (.*)$/m.exec(section) ?? [];
      if (marks === undefined) return [];
      const isTop = marks === "#";
      const label = isTop ? title : `${title}: ${heading}`;
      return [{ to: `/docs/${name}`, hash: isTop ? "" : slugOf(heading), label, text: section }];
    });
  });
}

function sectionOf({ id, name, summary, parameters, body, answer }: OperationView): Section {
  const text = [...parameters, ...body, ...answer].map((each) => `${each.name} ${each.about}`);
  const label = `${name}: ${summary}`;
  return { to: `/docs/reference/${id}`, hash: "", label, text: text.join("\n") };
}
