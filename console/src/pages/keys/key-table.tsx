import { Button, Text } from "@mantine/core";
import { Ban, SlidersHorizontal } from "lucide-react";
import { createContext, useContext, useMemo, useState, type ReactNode } from "react";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { useMay } from "../../api/use-may.ts";
import { useSession } from "../../api/use-session.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/count.tsx";
import { timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { RowButton, RowLine } from "../../ui/row-parts.tsx";
import tables from "../../ui/table.module.css";
import { Time } from "../../ui/time.tsx";
import type { Kept } from "../../ui/use-table-state.ts";
import { Tip } from "../../ui/tip.tsx";
import { ShareBar } from "../limits/used-bar.tsx";
import { ChosenBar } from "./chosen-bar.tsx";
import { canBeChosen } from "./chosen-keys.ts";
import { expirySoon } from "./expiry-choice.ts";
import { KEY_CAPS } from "./key-caps.ts";
import { KeyDialogs } from "./key-dialogs.tsx";
import { KeyName } from "./key-name.tsx";
import { toKeyStatus } from "./match-keys.ts";
import { strictestCap } from "./strictest-cap.ts";
import { helloSnippets } from "../../snippets/chat-snippets.ts";
import { useSampleModel } from "../../snippets/use-sample-model.ts";

export function KeyTable(props: {
  readonly rows: readonly Key[];
  readonly isFiltered: boolean;
  readonly onCreate: () => void;
}): ReactNode {
  const [edited, setEdited] = useState<Key>();
  const [disabled, setDisabled] = useState<Key>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const mayChange = useMay("keys");
  const choosing = useMemo(
    () => (mayChange ? { chosen, onChoose: setChosen } : undefined),
    [mayChange, chosen],
  );
  const columns = useMemo(
    () => [...COLUMNS, actionColumn({ mayChange, onEdit: setEdited, onDisable: setDisabled })],
    [mayChange],
  );
  return (
    <ChoosingContext value={choosing}>
      {mayChange ? <ChosenBar rows={props.rows} chosen={chosen} onChoose={setChosen} /> : null}
      <DataTable
        caption="Keys"
        kept={KEPT}
        columns={columns}
        rows={props.rows}
        rowKey={(key) => key.key_id}
        empty={
          props.isFiltered ? (
            <Empty title="No keys match this search." />
          ) : (
            <NoKeys onCreate={props.onCreate} />
          )
        }
      />
      <KeyDialogs
        edited={edited}
        disabled={disabled}
        onClose={() => {
          setEdited(undefined);
          setDisabled(undefined);
        }}
      />
    </ChoosingContext>
  );
}

function NoKeys({ onCreate }: { readonly onCreate: () => void }): ReactNode {
  const { gateway_url: gatewayUrl } = useSession().installation;
  const modelId = useSampleModel();
  const mayCreate = useMay("keys");
  return (
    <Empty
      title="No keys yet. Create one to call the gateway."
      action={mayCreate ? <Button onClick={onCreate}>Create key</Button> : undefined}
      code={helloSnippets("chat", { gatewayUrl, modelId })[0]?.code}
    />
  );
}

const KEPT: Kept = { id: "keys", rows: ["key", "keys"] };

interface Choosing {
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}

/**
 * The selected keys. Undefined for people who may not change keys. It is a context instead of a
 * prop, so that a change redraws only the checkboxes and not the rows.
 */
const ChoosingContext = createContext<Choosing | undefined>(undefined);

const COLUMNS: readonly Column<Key>[] = [
  {
    // This column has the checkbox, because the first column is always visible, also on a phone.
    id: "name",
    label: "Name and key",
    phone: "lead",
    render: (key) => <NameAndKey shown={key} />,
    sortValue: (key) => key.name.toLowerCase(),
  },
  timeColumn("created", "Created", (key) => key.created_at, {
    precision: "day",
    isSortable: true,
    shownFrom: "wide",
  }),
  {
    id: "models",
    label: "Models",
    shownFrom: "wide",
    render: ({ models }) => (models === null ? "All" : <KeyModels models={models} />),
    sortValue: ({ models }) => models?.length ?? Infinity,
  },
  {
    id: "expires",
    label: "Expires",
    shownFrom: "wide",
    render: (key) =>
      key.expires_at === null ? "Never" : <Time at={key.expires_at} precision="day" />,
    sortValue: (key) => key.expires_at ?? "9",
  },
  timeColumn("used", "Last used", (key) => key.last_used_at, {
    otherwise: "Never",
    sortValue: (key) => key.last_used_at ?? "",
    phone: "line",
  }),
  {
    id: "ceiling",
    label: "Ceiling",
    align: "right",
    render: (key) => `${formatCount(key.rpm_ceiling)}/min`,
    sortValue: (key) => key.rpm_ceiling,
  },
  {
    id: "rpm",
    label: "Your limit",
    align: "right",
    render: (key) => <OwnLimit limited={key} />,
    sortValue: (key) => key.rpm ?? key.rpm_ceiling,
  },
  {
    id: "cap",
    label: "Cap",
    align: "right",
    phone: "line",
    render: (key) => <Caps of={key} />,
    sortValue: (key) => (key.cap_usd === null ? -1n : parseUsd(key.cap_usd)),
  },
  {
    id: "spent",
    label: "Spent this month",
    align: "right",
    phone: "end",
    render: (key) => <Spent by={key} />,
    sortValue: (key) => parseUsd(key.spent_month_usd),
  },
];

function NameAndKey({ shown }: { readonly shown: Key }): ReactNode {
  return (
    <RowLine className={tables.first}>
      {canBeChosen(shown) ? <ChooseKey shown={shown} /> : null}
      <div>
        <KeyName named={shown} isLink />
        <div className={tables.deskOnly}>
          <KeyLabel labelled={shown} />
        </div>
      </div>
      {hasNews(shown) ? <KeyStatusBadge stated={shown} /> : null}
    </RowLine>
  );
}

function ChooseKey({ shown }: { readonly shown: Key }): ReactNode {
  const choosing = useContext(ChoosingContext);
  if (choosing === undefined) return null;
  const { chosen, onChoose } = choosing;
  const { key_id: keyId, name } = shown;
  return (
    <input
      type="checkbox"
      className={tables.check}
      aria-label={`Select ${name}`}
      checked={chosen.has(keyId)}
      onChange={(event) => {
        const others = [...chosen].filter((each) => each !== keyId);
        onChoose(new Set(event.currentTarget.checked ? [...others, keyId] : others));
      }}
    />
  );
}

function KeyModels({ models }: { readonly models: readonly string[] }): ReactNode {
  const [first = ""] = models;
  if (models.length === 1) return first;
  return <span title={models.join("\n")}>{formatCount(models.length)} models</span>;
}

function Spent({ by }: { readonly by: Key }): ReactNode {
  const cap = strictestCap(by, Date.now());
  return (
    <>
      <Money usd={by.spent_month_usd} isBrief />
      {cap === undefined ? null : (
        <div className={tables.deskOnly}>
          <ShareBar share={cap.share} />
          <Text size="xs" c="dimmed" style={{ whiteSpace: "nowrap" }}>
            {Math.floor(cap.share * 100)}% of {cap.name} cap
          </Text>
        </div>
      )}
    </>
  );
}

/** Shows the caps with their periods. The monthly cap is shown without its period. */
function Caps({ of: key }: { readonly of: Key }): ReactNode {
  const set = KEY_CAPS.flatMap(({ period, field }) => {
    const usd = key[field];
    return usd === null ? [] : [{ period, usd }];
  });
  if (set.length === 0) return "No cap";
  return set.map(({ period, usd }) =>
    period === "month" ? (
      <Money key={period} usd={usd} isBrief />
    ) : (
      <Text key={period} size="xs" c="dimmed" style={{ whiteSpace: "nowrap" }}>
        <Money usd={usd} isBrief /> a {period}
      </Text>
    ),
  );
}

/** Shows the first characters of a key, which are the only ones that are stored in the clear. */
export function KeyLabel({ labelled }: { readonly labelled: Key }): ReactNode {
  return (
    <Text
      span
      ff="monospace"
      size="xs"
      c="dimmed"
      style={{ whiteSpace: "nowrap" }}
      td={labelled.disabled_at === null ? undefined : "line-through"}
    >
      {labelled.label}…
    </Text>
  );
}

export function KeyStatusBadge({ stated }: { readonly stated: Key }): ReactNode {
  const status = toKeyStatus(stated);
  if (status === "disabled") return <StatusBadge tone="quiet">disabled</StatusBadge>;
  if (status === "expired") return <StatusBadge tone="bad">expired</StatusBadge>;
  const soon = expirySoon(stated.expires_at, Date.now());
  if (soon !== undefined) return <StatusBadge tone="warn">{soon}</StatusBadge>;
  return <StatusBadge tone="ok">Active</StatusBadge>;
}

function hasNews(key: Key): boolean {
  return toKeyStatus(key) !== "active" || expirySoon(key.expires_at, Date.now()) !== undefined;
}

/** Shows the key's own limit, and the effective limit if that is lower. */
function OwnLimit({ limited }: { readonly limited: Key }): ReactNode {
  const { rpm, rpm_ceiling: ceiling, rpm_effective: effective } = limited;
  const own = rpm === null ? "None" : `${formatCount(rpm)}/min`;
  if (limited.disabled_at !== null || effective >= Math.min(rpm ?? ceiling, ceiling)) return own;
  return (
    <>
      {own}
      <Text size="xs" c="dimmed" style={{ whiteSpace: "nowrap" }}>
        now {formatCount(effective)}/min
      </Text>
    </>
  );
}

function actionColumn(props: {
  readonly mayChange: boolean;
  readonly onEdit: (key: Key) => void;
  readonly onDisable: (key: Key) => void;
}): Column<Key> {
  const { mayChange, onEdit, onDisable } = props;
  return {
    id: "actions",
    label: "Actions",
    align: "right",
    render: (key) =>
      key.disabled_at === null ? (
        <RowLine isEnd>
          <RowAction mayChange={mayChange} label={`Edit ${key.name}`} onClick={() => onEdit(key)}>
            <SlidersHorizontal size={15} aria-hidden />
          </RowAction>
          <RowAction
            mayChange={mayChange}
            label={`Disable ${key.name}`}
            onClick={() => onDisable(key)}
          >
            <Ban size={15} aria-hidden />
          </RowAction>
        </RowLine>
      ) : null,
  };
}

function RowAction(props: {
  readonly mayChange: boolean;
  readonly label: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <Tip label={props.label}>
      <RowButton label={props.label} disabled={!props.mayChange} onClick={props.onClick}>
        {props.children}
      </RowButton>
    </Tip>
  );
}
