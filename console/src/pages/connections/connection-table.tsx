import { Group, Text, Popover } from "@mantine/core";
import { useMemo, useState, type ReactNode } from "react";

import type { Connection, Connections, AnswerOf } from "../../api/contract.ts";
import { useAnswer, useChange, useMay } from "../../api/use-answer.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { ConfirmName } from "../../ui/confirm-name.tsx";
import { timeColumn, column, actionsColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { useLast, useSubmission } from "../../ui/form-dialog.tsx";
import { call } from "../../api/client.ts";
import { Fault } from "../../ui/answer.tsx";
import { CompactButton } from "../../ui/buttons.tsx";

export function ConnectionTable(props: {
  readonly connections: Connections;
  readonly empty: ReactNode;
}) {
  const { providers, data } = props.connections;
  const keys = useAnswer("GET /api/console/keys");
  const [disabled, setDisabled] = useState<Connection>();
  const columns = useMemo(() => {
    const names = new Map(providers.map(({ id, name }) => [id, name]));
    const keyNames = new Map(keys.data?.data.map(({ key_id: id, name }) => [id, name]));
    return buildColumns({
      providerName: (id) => names.get(id) ?? id,
      keyName: (id) => keyNames.get(id) ?? id,
      onDisable: setDisabled,
    });
  }, [providers, keys.data]);
  return (
    <>
      <DataTable
        caption="Stored provider keys"
        columns={columns}
        rows={data}
        rowKey={({ connection_id: id }) => id}
        empty={props.empty}
      />
      <DisableConnectionDialog disabled={disabled} onClose={() => setDisabled(undefined)} />
    </>
  );
}

function buildColumns(parts: {
  readonly providerName: (id: string) => string;
  readonly keyName: (id: string) => string;
  readonly onDisable: (connection: Connection) => void;
}): readonly Column<Connection>[] {
  return [
    column(
      "name",
      "Name",
      ({ name, disabled_at: at }) => (
        <Text span inherit fw={500} td={at === null ? undefined : "line-through"}>
          {name}
        </Text>
      ),
      { sortValue: ({ name }) => name.toLowerCase() },
    ),
    column("provider", "Provider", ({ provider }) => parts.providerName(provider), {
      sortValue: ({ provider }) => parts.providerName(provider).toLowerCase(),
    }),
    column("label", "Provider key", ({ label }) => (
      <Text span ff="monospace" fz="0.9em">
        …{label}
      </Text>
    )),
    column("key", "Used by", ({ key_id: id }) => (id === null ? "All keys" : parts.keyName(id))),
    column(
      "status",
      "Status",
      ({ disabled_at: at }) => (
        <StatusBadge tone={at === null ? "ok" : "quiet"}>
          {at === null ? "Active" : "disabled"}
        </StatusBadge>
      ),
      { sortValue: ({ disabled_at: at }) => at ?? "" },
    ),
    timeColumn("created", "Added", ({ created_at: at }) => at, {
      precision: "day",
      isSortable: true,
    }),
    actionsColumn((connection) =>
      connection.disabled_at === null ? (
        <Actions connection={connection} onDisable={parts.onDisable} />
      ) : null,
    ),
  ];
}

function Actions(props: {
  readonly connection: Connection;
  readonly onDisable: (connection: Connection) => void;
}) {
  const { connection, onDisable } = props;
  const mayChange = useMay("keys");
  if (!mayChange) return null;
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      <TestButton connection={connection} />
      <CompactButton
        aria-label={`Disable ${connection.name}`}
        onClick={() => onDisable(connection)}
      >
        Disable
      </CompactButton>
    </Group>
  );
}

function DisableConnectionDialog(props: {
  readonly disabled: Connection | undefined;
  readonly onClose: () => void;
}) {
  const { disabled, onClose } = props;
  const shown = useLast(disabled);
  const change = useChange("POST /api/console/connections/:connection_id/disable", [
    "GET /api/console/connections",
  ]);
  const disable = async (): Promise<void> => {
    if (disabled === undefined) return;
    await change.mutateAsync({ params: { connection_id: disabled.connection_id } });
    notifyDone(`“${disabled.name}” was disabled`);
    onClose();
  };
  return (
    <ConfirmName
      opened={disabled !== undefined}
      title="Disable connection"
      name={shown?.name ?? ""}
      confirmLabel="Disable permanently"
      onConfirm={disable}
      onClose={onClose}
    >
      <Text size="sm">
        This is permanent: the stored provider key is deleted. Within seconds, requests use Token
        Market&apos;s key again and are charged to your balance. Requests that allow only your keys
        are rejected.
      </Text>
    </ConfirmName>
  );
}

type TestAnswer = AnswerOf<"POST /api/console/connections/:connection_id/test">;

function TestButton({ connection }: { readonly connection: Connection }) {
  const submission = useSubmission();
  const [answer, setAnswer] = useState<TestAnswer>();
  const [isShown, setIsShown] = useState(false);
  const test = (): void => {
    setAnswer(undefined);
    setIsShown(false);
    submission.run(async () => {
      try {
        const params = { connection_id: connection.connection_id };
        setAnswer(await call("POST /api/console/connections/:connection_id/test", { params }));
      } finally {
        setIsShown(true);
      }
    });
  };
  return (
    <Popover opened={isShown} onChange={setIsShown} width={300} withArrow trapFocus={false}>
      <Popover.Target>
        <CompactButton
          aria-label={`Test ${connection.name}`}
          loading={submission.isBusy}
          onClick={test}
        >
          Test
        </CompactButton>
      </Popover.Target>
      <Popover.Dropdown>
        <div role="status">
          {submission.fault === undefined ? null : <Fault error={submission.fault} />}
          {answer === undefined ? null : <TestResult answer={answer} />}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}

function TestResult({ answer }: { readonly answer: TestAnswer }) {
  return (
    <>
      <StatusBadge tone={answer.ok ? "ok" : "bad"}>
        {answer.ok ? "Accepted by the provider" : "Rejected by the provider"}
      </StatusBadge>
      <Text size="sm" mt="xs" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>
        {answer.message}
      </Text>
    </>
  );
}
