import { Anchor, Code, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { NotFound } from "../../app/not-found.tsx";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { AppLink } from "../../ui/app-link.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Panel } from "../../ui/panel.tsx";
import { TablePanel } from "../../ui/table-panel.tsx";
import { sentence } from "../../ui/sentence.ts";
import { DocsFrame } from "./docs-frame.tsx";
import { chosenBlocks, modelOfGuide } from "./guide-blocks.ts";
import { Inline, MarkdownView } from "./markdown-view.tsx";
import { readOperations, type FieldRow, type OperationView } from "./openapi-rows.ts";

const ADDRESS = "/api/openapi-v1.json";

export function ReferencePage(): ReactElement {
  const document = useOperations();
  const operations = document.data ?? [];
  return (
    <DocsFrame
      title="API reference"
      operations={operations}
      lead={
        <>
          For tools: <Anchor href={ADDRESS}>OpenAPI 3.1</Anchor>. Every route takes a key as{" "}
          <Code>authorization: Bearer</Code> or <Code>x-api-key</Code>.
        </>
      }
    >
      {document.isError ? (
        <Fault error={document.error} retry={() => void document.refetch()} />
      ) : null}
      {document.isPending ? <Loading rows={8} /> : null}
      {[...new Set(operations.map(({ tag }) => tag))].map((tag) => (
        <TablePanel
          key={tag}
          title={tag}
          caption={`Routes of ${tag}`}
          columns={ROUTE_COLUMNS}
          rows={operations.filter((each) => each.tag === tag)}
          rowKey={({ id }) => id}
        />
      ))}
    </DocsFrame>
  );
}

export function OperationPage(): ReactElement {
  const { operation: id } = useParams({ strict: false });
  const document = useOperations();
  if (document.isError) return <Fault error={document.error} />;
  if (document.data === undefined) return <Loading rows={8} />;
  const found = document.data.find((each) => each.id === id);
  return found === undefined ? <NotFound /> : <Operation of={found} all={document.data} />;
}

function useOperations() {
  return useQuery({
    queryKey: ["openapi-v1"],
    queryFn: async ({ signal }) => {
      const answer = await fetch(ADDRESS, { signal });
      if (!answer.ok) throw new Error("The reference could not be loaded. Try again.");
      return readOperations(await answer.json());
    },
  });
}

function Operation(props: {
  readonly of: OperationView;
  readonly all: readonly OperationView[];
}): ReactElement {
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

/** Shows the example call of an operation, with a model that this installation lists. */
function Example({ of }: { readonly of: OperationView }): ReactElement {
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
      <Text size="sm" c="dimmed">
        The guides have the same calls in Python and TypeScript.
      </Text>
    </Stack>
  );
}

const ROUTE_COLUMNS: readonly Column<OperationView>[] = [
  {
    id: "route",
    label: "Route",
    render: ({ id, name }) => (
      <AppLink to="/docs/reference/$operation" params={{ operation: id }}>
        <Code>{name}</Code>
      </AppLink>
    ),
  },
  { id: "what", label: "What it does", render: ({ summary }) => <Inline text={summary} /> },
];
const FIELD_COLUMNS: readonly Column<FieldRow>[] = [
  { id: "name", label: "Name", phone: "lead", render: ({ name }) => <Code>{name}</Code> },
  { id: "type", label: "Type", phone: "plain", render: ({ type }) => type },
  {
    id: "required",
    label: "Required",
    phone: "line",
    render: ({ isRequired }) => (isRequired ? "Yes" : ""),
  },
  {
    id: "about",
    label: "Description",
    phone: "plain",
    render: ({ about }) => <Inline text={sentence(about)} />,
  },
];
const ERROR_COLUMNS: readonly Column<OperationView["refusals"][number]>[] = [
  { id: "status", label: "Status", render: ({ status }) => <Code>{status}</Code> },
  { id: "classes", label: "Classes", render: ({ classes }) => classes },
];
