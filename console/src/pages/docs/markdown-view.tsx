import { Anchor, Code, List, Text, Title } from "@mantine/core";
import { Fragment } from "react";

import { column } from "../../ui/columns.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { CodeTabs } from "../../ui/code-tabs.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Panel } from "../../ui/page.tsx";
import type { ChosenBlock } from "./guide-call.ts";
import { GuideRun } from "./guide-run.tsx";
import styles from "./docs.module.css";
import { type Block, slugOf } from "./markdown-blocks.ts";

export function MarkdownView({ blocks }: { readonly blocks: readonly ChosenBlock[] }) {
  const shown = blocks.filter(({ block }) => block.kind !== "heading" || block.level > 1);
  return (
    <>
      {shown.map(({ block, call }, at) => (
        <Fragment key={at}>
          <BlockView block={block} />
          {call === undefined ? null : <GuideRun call={call} />}
        </Fragment>
      ))}
    </>
  );
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "heading":
      return (
        <Title order={2} size="h4" id={slugOf(block.text)} className={styles.heading}>
          {block.text}
          <a href={`#${slugOf(block.text)}`} aria-label={`Link to “${block.text}”`}>
            #
          </a>
        </Title>
      );
    case "text":
      return (
        <Text maw="75ch">
          <Inline text={block.text} />
        </Text>
      );
    case "list":
      return (
        <List spacing="xs" maw="75ch">
          {block.items.map((item) => (
            <List.Item key={item}>
              <Inline text={item} />
            </List.Item>
          ))}
        </List>
      );
    case "table":
      return (
        <Panel>
          <DataTable
            caption={block.head.join(", ")}
            columns={block.head.map((label, at) =>
              column(`${at}`, label, (row: readonly string[]) => <Inline text={row[at] ?? ""} />),
            )}
            rows={block.rows}
            rowKey={([first = ""]) => first}
          />
        </Panel>
      );
    case "code":
    default:
      return <CodeTabs tabs={block.tabs} />;
  }
}

export function Inline({ text }: { readonly text: string }) {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/);
  return (
    <>
      {parts.map((part, at) => (
        <InlinePart key={at} part={part} />
      ))}
    </>
  );
}

function InlinePart({ part }: { readonly part: string }) {
  if (part.startsWith("`")) return <Code>{part.slice(1, -1)}</Code>;
  if (part.startsWith("**")) return <b>{part.slice(2, -2)}</b>;
  const [, label = "", target = ""] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? [];
  const [, guide] = /^([a-z-]+)\.md$/.exec(target) ?? [];
  if (guide !== undefined) {
    return (
      <AppLink to="/docs/$page" params={{ page: guide }}>
        {label}
      </AppLink>
    );
  }
  return target === "" ? <>{part}</> : <Anchor href={target}>{label}</Anchor>;
}
