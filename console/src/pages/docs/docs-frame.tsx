import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { Page, type PageProps } from "../../ui/page.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { type SideGroup, SidePages } from "../../ui/side-pages.tsx";
import { GUIDES } from "./guide-list.ts";
import type { OperationView } from "./openapi-rows.ts";
import styles from "./docs.module.css";
import { useDocsSearch } from "./use-docs-search.ts";

interface DocsFrameProps extends PageProps {
  readonly sections?: readonly { readonly id: string; readonly label: string }[];
  readonly operations?: readonly OperationView[];
}

export function DocsFrame({ sections = [], operations = [], ...page }: DocsFrameProps) {
  const [query, setQuery] = useState("");
  const found = useDocsSearch(query, operations);
  useHashScroll(sections.length);
  return (
    <SidePages
      label="Docs"
      head={
        <div className={styles.search}>
          <SearchField label="Search docs" value={query} onChange={setQuery} />
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

function useHashScroll(sections: number): void {
  useEffect(() => {
    const id = globalThis.location.hash.slice(1);
    if (sections > 0 && id !== "") document.querySelector(`#${CSS.escape(id)}`)?.scrollIntoView();
  }, [sections]);
}
