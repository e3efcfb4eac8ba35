import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Connections } from "../../../../src/account/console-api/contract.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount } from "../../ui/count.tsx";
import { timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";

type Endpoint = Connections["endpoints"][number];

/** Lists the organization's dedicated endpoints. Only the operator can edit them. */
export function EndpointTable(props: { readonly endpoints: readonly Endpoint[] }): ReactNode {
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        Requests for these models are sent to these endpoints only. The operator manages them. To
        change one, contact support.
      </Text>
      <DataTable
        caption="Dedicated endpoints of the organization"
        columns={COLUMNS}
        rows={props.endpoints}
        rowKey={({ endpoint_id: id }) => id}
      />
    </Stack>
  );
}

const COLUMNS: readonly Column<Endpoint>[] = [
  { id: "provider", label: "Provider", render: ({ provider }) => provider },
  {
    id: "models",
    label: "Models",
    render: ({ models }) => (
      <Stack gap={2} align="flex-start">
        {models.map((model) => (
          <Copyable key={model} value={model} label="model ID" />
        ))}
      </Stack>
    ),
  },
  numberColumn("rps", "Requests per second"),
  numberColumn("rpm", "Requests per minute"),
  numberColumn("tpm", "Tokens per minute"),
  numberColumn("concurrency", "Concurrent requests"),
  timeColumn("created", "Since", ({ created_at: at }) => at, { precision: "day" }),
  {
    id: "id",
    label: "Endpoint ID",
    render: ({ endpoint_id: id }) => <Copyable value={id} label="endpoint ID" short />,
  },
];

function numberColumn(id: "rps" | "rpm" | "tpm" | "concurrency", label: string): Column<Endpoint> {
  return {
    id,
    label,
    align: "right",
    render: (endpoint) => {
      const count = endpoint[id];
      return count === null ? "No limit" : formatCount(count);
    },
  };
}
