import { Alert, Button, Stack } from "@mantine/core";
import { Info, Plus } from "lucide-react";
import { useState } from "react";

import type { Connections } from "../../api/contract.ts";
import { useAnswer, useMay } from "../../api/use-answer.ts";
import { Answer, Loading } from "../../ui/answer.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Note, Page, Panel, RoleNote } from "../../ui/page.tsx";
import { AddConnectionDialog } from "./add-connection-dialog.tsx";
import { ConnectionTable } from "./connection-table.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { timeColumn, column, numberColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";

const LEAD =
  "Requests made with your own provider key are billed by the provider, not charged to your " +
  "balance. Their usage is still recorded.";

export function ConnectionsPage() {
  const answer = useAnswer("GET /api/console/connections");
  const [isAdding, setIsAdding] = useState(false);
  const add = (): void => setIsAdding(true);
  const mayChange = useMay("keys");
  const canAdd = mayChange && answer.data !== undefined && addingProblem(answer.data) === undefined;
  return (
    <Page
      title="Connections"
      lead={LEAD}
      actions={
        canAdd ? (
          <Button leftSection={<Plus size={16} aria-hidden />} onClick={add}>
            Add connection
          </Button>
        ) : undefined
      }
    >
      <RoleNote need="keys" what="add and disable provider keys" />
      <Answer
        of={answer}
        skeleton={
          <Panel title="Your provider keys">
            <Loading rows={5} />
          </Panel>
        }
      >
        {(connections) => (
          <>
            <OwnKeysPanel connections={connections} onAdd={add} />
            <EndpointPanel endpoints={connections.endpoints} />
            <AddConnectionDialog
              opened={isAdding}
              providers={connections.providers}
              onClose={() => setIsAdding(false)}
            />
          </>
        )}
      </Answer>
    </Page>
  );
}

function OwnKeysPanel(props: { readonly connections: Connections; readonly onAdd: () => void }) {
  const { connections, onAdd } = props;
  const mayChange = useMay("keys");
  const reason = addingProblem(connections);
  return (
    <Panel title="Your provider keys">
      {reason === undefined ? null : (
        <Alert color="gray" icon={<Info aria-hidden />} mb="md">
          {reason}
        </Alert>
      )}
      <ConnectionTable
        connections={connections}
        empty={
          reason === undefined ? (
            <Empty
              title="No provider keys yet. Requests use Token Market's keys."
              action={mayChange ? <Button onClick={onAdd}>Add connection</Button> : undefined}
            />
          ) : null
        }
      />
    </Panel>
  );
}

/** Says in a sentence why no connection can be added; undefined if one can be added. */
function addingProblem(connections: Connections): string | undefined {
  if (!connections.is_available) {
    return "Provider keys are not available on this installation.";
  }
  return connections.providers.length === 0
    ? "No provider in the catalog supports customer keys."
    : undefined;
}

function EndpointPanel(props: { readonly endpoints: Connections["endpoints"] }) {
  if (props.endpoints.length === 0) return null;
  return (
    <Panel title="Dedicated endpoints">
      <Stack gap="md">
        <Note>
          Requests for these models are sent to these endpoints only. The operator manages them. To
          change one, contact support.
        </Note>
        <DataTable
          caption="Dedicated endpoints of the organization"
          columns={COLUMNS}
          rows={props.endpoints}
          rowKey={({ endpoint_id: id }) => id}
        />
      </Stack>
    </Panel>
  );
}

type Endpoint = Connections["endpoints"][number];

const UNBOUNDED = { otherwise: "No limit" };

const COLUMNS: readonly Column<Endpoint>[] = [
  column("provider", "Provider", ({ provider }) => provider),
  column("models", "Models", ({ models }) => (
    <Stack gap={2} align="flex-start">
      {models.map((model) => (
        <Copyable key={model} value={model} label="model ID" />
      ))}
    </Stack>
  )),
  numberColumn("rps", "Requests per second", ({ rps }) => rps, UNBOUNDED),
  numberColumn("rpm", "Requests per minute", ({ rpm }) => rpm, UNBOUNDED),
  numberColumn("tpm", "Tokens per minute", ({ tpm }) => tpm, UNBOUNDED),
  numberColumn("concurrency", "Concurrent requests", ({ concurrency: most }) => most, UNBOUNDED),
  timeColumn("created", "Since", ({ created_at: at }) => at, { precision: "day" }),
  column("id", "Endpoint ID", ({ endpoint_id: id }) => (
    <Copyable value={id} label="endpoint ID" short />
  )),
];
