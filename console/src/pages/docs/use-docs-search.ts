import { useQuery } from "@tanstack/react-query";

import type { SideGroup } from "../../ui/side-pages.tsx";
import type { OperationView } from "./openapi-rows.ts";
import { slugOf } from "./markdown-blocks.ts";

const FOUND_MAX = 20;

interface Section {
  readonly to: string;
  readonly hash: string;
  readonly label: string;
  readonly text: string;
}

/**
 * Finds the routes and the sections of guides that contain every word of the query. Those whose
 * name matches come first.
 */
export function useDocsSearch(
  query: string,
  operations: readonly OperationView[],
): SideGroup["links"] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const guides = useQuery({
    queryKey: ["guides"],
    queryFn: async ({ signal }) => (await fetch("/llms-full.txt", { signal })).text(),
    enabled: words.length > 0,
  });
  if (words.length === 0) return [];
  const all = [...sectionsOf(guides.data ?? ""), ...operations.map(sectionOf)];
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const named = all.filter(({ label }) => has(label));
  const others = all.filter(({ label, text }) => !has(label) && has(`${label} ${text}`));
  return [...named, ...others].slice(0, FOUND_MAX);
}

/** Splits `llms-full.txt`, where each guide begins with a line `Source: …`, into sections. */
export function sectionsOf(text: string): readonly Section[] {
  return text.split(/^Source: \S+\/docs\/(?=[a-z-]+\.md$)/m).flatMap((guide) => {
    const [, name, body] = /^([a-z-]+)\.md\n([\s\S]*)$/.exec(guide) ?? [];
    if (name === undefined || body === undefined) return [];
    const [, title = name] = /^# (.*)$/m.exec(body) ?? [];
    return body.split(/^(?=##? )/m).flatMap((section) => {
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
