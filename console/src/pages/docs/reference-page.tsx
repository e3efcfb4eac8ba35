import { Anchor, Code, Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";

import { useAnswer } from "../../api/use-answer.ts";
import { NotFound } from "../../app/not-found.tsx";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { column } from "../../ui/columns.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { type Column, TablePanel } from "../../ui/data-table.tsx";
import { Answer } from "../../ui/answer.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { sentence } from "../../ui/sentence.ts";
import { DocsFrame } from "./docs-frame.tsx";
import { chosenBlocks, modelOfGuide } from "./guide-call.ts";
import { Inline, MarkdownView } from "./markdown-view.tsx";
import type { FieldRow, OperationView } from "./openapi-rows.ts";
import { OPENAPI, useOperations } from "./use-operations.ts";

export function ReferencePage() {
  const document = useOperations();
  return (
    <DocsFrame
      title="API reference"
      operations={document.data ?? []}
      lead={
        <>
          For tools: <Anchor href={OPENAPI}>OpenAPI 3.1</Anchor>. Every route takes a key as{" "}
          <Code>authorization: Bearer</Code> or <Code>x-api-key</Code>.
        </>
      }
    >
      <Answer of={document} rows={8}>
        {(operations) =>
          [...new Set(operations.map(({ tag }) => tag))].map((tag) => (
            <TablePanel
              key={tag}
              title={tag}
              caption={`Routes of ${tag}`}
              columns={ROUTE_COLUMNS}
              rows={operations.filter((each) => each.tag === tag)}
              rowKey={({ id }) => id}
            />
          ))
        }
      </Answer>
    </DocsFrame>
  );
}

export function OperationPage() {
  const { operation: id } = useParams({ strict: false });
  return (
    <Answer of={useOperations()} rows={8}>
      {(all) => {
        const found = all.find((each) => each.id === id);
        return found === undefined ? <NotFound /> : <Operation of={found} all={all} />;
      }}
    </Answer>
  );
}

function Operation(props: { readonly of: OperationView; readonly all: readonly OperationView[] }) {
  const { of, all } = props;
  const parts = [
    { id: "parameters", label: "Parameters", rows: of.parameters },
    { id: "body", label: "Body", rows: of.body },
    { id: "answer", label: "Answer", rows: of.answer },
    { id: "headers", label: "Headers of the answer", rows: of.headers },
  ].filter(({ rows }) => rows.length > 0);
  const ends = [{ id: "example", label: "Example" }, ...parts, { id: "errors", label: "Errors" }];
  return (
    <DocsFrame
      title={of.name}
      crumbs={[
        { label: "Docs", to: "/docs" },
        { label: "API reference", to: "/docs/reference" },
      ]}
      operations={all}
      sections={ends}
      lead={<Inline text={`${sentence(of.summary)} ${of.about}`} />}
    >
      <Panel title="Example" id="example">
        <Example of={of} />
      </Panel>
      {parts.map(({ id, label, rows }) => (
        <TablePanel
          key={id}
          id={id}
          title={label}
          caption={`${label} of ${of.name}`}
          columns={FIELD_COLUMNS}
          rows={rows}
          rowKey={({ name }) => name}
        />
      ))}
      <TablePanel
        id="errors"
        title="Errors"
        caption={`Errors of ${of.name}`}
        columns={ERROR_COLUMNS}
        rows={of.refusals}
        rowKey={({ status }) => status}
      />
    </DocsFrame>
  );
}

function Example({ of }: { readonly of: OperationView }) {
  const sample = useSampleModel();
  const listed = useAnswer("GET /api/catalog.json").data?.models ?? [];
  const blocks = [{ kind: "code", tabs: [{ label: "curl", code: of.curl }] }] as const;
  const own = modelOfGuide(blocks);
  const to =
    own?.modality === "text"
      ? sample
      : listed.find(({ modality }) => modality === own?.modality)?.id;
  const model = own === undefined || to === undefined ? undefined : { from: own.modelId, to };
  return (
    <Stack gap="md">
      <MarkdownView blocks={chosenBlocks(blocks, { model, rawKey: "" })} />
      <Note>The guides have the same calls in Python and TypeScript.</Note>
    </Stack>
  );
}

const ROUTE_COLUMNS: readonly Column<OperationView>[] = [
  column("route", "Route", ({ id, name }) => (
    <AppLink to="/docs/reference/$operation" params={{ operation: id }}>
      <Code>{name}</Code>
    </AppLink>
  )),
  column("what", "What it does", ({ summary }) => <Inline text={summary} />),
];
const FIELD_COLUMNS: readonly Column<FieldRow>[] = [
  column("name", "Name", ({ name }) => <Code>{name}</Code>, { phone: "lead" }),
  column("type", "Type", ({ type }) => type, { phone: "plain" }),
  column("required", "Required", ({ isRequired }) => (isRequired ? "Yes" : ""), { phone: "line" }),
  column("about", "Description", ({ about }) => <Inline text={sentence(about)} />, {
    phone: "plain",
  }),
];
const ERROR_COLUMNS: readonly Column<OperationView["refusals"][number]>[] = [
  column("status", "Status", ({ status }) => <Code>{status}</Code>),
  column("classes", "Classes", ({ classes }) => classes),
];
