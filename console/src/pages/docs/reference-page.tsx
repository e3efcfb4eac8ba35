import { Anchor, Code, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { readOperations, type FieldRow, type OperationView } from "./openapi-rows.ts";

const ADDRESS = "/api/openapi-v1.json";

/** Every route of the gateway with its fields, headers and errors, from the published document. */
export function ReferencePage(): ReactElement {
  const document = useQuery({
    queryKey: ["openapi-v1"],
    queryFn: ({ signal }) => readDocument(signal),
  });
  return (
    <Page
      title="API reference"
      crumbs={[{ label: "Docs", to: "/docs" }]}
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
      {document.data === undefined
        ? null
        : readOperations(document.data).map((each) => <Operation key={each.name} of={each} />)}
    </Page>
  );
}

async function readDocument(signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(ADDRESS, { signal });
  if (!answer.ok) throw new Error("The reference could not be loaded. Try again.");
  return await answer.json();
}

function Operation({ of }: { readonly of: OperationView }): ReactElement {
  return (
    <Panel title={of.name}>
      <Stack gap="md">
        <Text size="sm" maw="75ch">
          {of.summary}. {of.about}
        </Text>
        <Fields of={of.name} title="Parameters" rows={of.parameters} />
        <Fields of={of.name} title="Body" rows={of.body} />
        <Fields of={of.name} title="Answer" rows={of.answer} />
        <details>
          <summary>Headers and errors</summary>
          <Stack gap="md" mt="sm">
            <Fields of={of.name} title="Headers" rows={of.headers} />
            <Title order={3} size="h6">
              Errors
            </Title>
            <DataTable
              caption={`Errors of ${of.name}`}
              columns={ERROR_COLUMNS}
              rows={of.refusals}
              rowKey={({ status }) => status}
            />
          </Stack>
        </details>
      </Stack>
    </Panel>
  );
}

function Fields(props: {
  readonly of: string;
  readonly title: string;
  readonly rows: readonly FieldRow[];
}): ReactElement | null {
  if (props.rows.length === 0) return null;
  return (
    <div>
      <Title order={3} size="h6" mb={4}>
        {props.title}
      </Title>
      <DataTable
        caption={`${props.title} of ${props.of}`}
        columns={FIELD_COLUMNS}
        rows={props.rows}
        rowKey={({ name }) => name}
      />
    </div>
  );
}

const FIELD_COLUMNS: readonly Column<FieldRow>[] = [
  { id: "name", label: "Name", render: ({ name }) => <Code>{name}</Code> },
  { id: "type", label: "Type", render: ({ type }) => type },
  { id: "required", label: "Required", render: ({ isRequired }) => (isRequired ? "Yes" : "") },
  { id: "about", label: "Description", render: ({ about }) => about },
];
const ERROR_COLUMNS: readonly Column<OperationView["refusals"][number]>[] = [
  { id: "status", label: "Status", render: ({ status }) => <Code>{status}</Code> },
  { id: "classes", label: "Classes", render: ({ classes }) => classes },
];
