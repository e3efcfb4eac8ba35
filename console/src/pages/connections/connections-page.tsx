import { Alert, Button } from "@mantine/core";
import { Info, Plus } from "lucide-react";
import { useState, type ReactNode } from "react";

import type { Connections } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { Answer } from "../../ui/answer.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { AddConnectionDialog } from "./add-connection-dialog.tsx";
import { ConnectionTable } from "./connection-table.tsx";
import { EndpointTable } from "./endpoint-table.tsx";

const LEAD =
  "Requests made with your own provider key are billed by the provider, not charged to your " +
  "balance. Their usage is still recorded.";

export function ConnectionsPage(): ReactNode {
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
      <Answer of={answer} skeleton={<ConnectionsSkeleton />}>
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

function OwnKeysPanel(props: {
  readonly connections: Connections;
  readonly onAdd: () => void;
}): ReactNode {
  const { connections, onAdd } = props;
  const mayChange = useMay("keys");
  const reason = addingProblem(connections);
  return (
    <Panel title="Your provider keys">
      {reason === undefined ? null : (
        <Alert color="gray" variant="light" icon={<Info aria-hidden />} mb="md">
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

function EndpointPanel(props: { readonly endpoints: Connections["endpoints"] }): ReactNode {
  if (props.endpoints.length === 0) return null;
  return (
    <Panel title="Dedicated endpoints">
      <EndpointTable endpoints={props.endpoints} />
    </Panel>
  );
}

function ConnectionsSkeleton(): ReactNode {
  return (
    <Panel title="Your provider keys">
      <Loading rows={5} />
    </Panel>
  );
}
