import { Button, Text } from "@mantine/core";
import { Ban, SlidersHorizontal } from "lucide-react";
import { createContext, useContext, useMemo, useState, type ReactNode, lazy } from "react";

import type { Key } from "../../api/contract.ts";
import { useMay, useSession } from "../../api/use-answer.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/format.ts";
import { timeColumn, column, actionsColumn } from "../../ui/columns.tsx";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import tables from "../../ui/table.module.css";
import { Tip } from "../../ui/tip.tsx";
import { ShareBar } from "../limits/used-bar.tsx";
import { ChosenBar, canBeChosen } from "./chosen-bar.tsx";
import { expirySoon } from "./expiry-choice.ts";
import { KEY_CAPS, strictestCap } from "./caps.ts";
import { KeyName, RowButton } from "./key-name.tsx";
import { toKeyStatus } from "./match-keys.ts";
import { helloSnippets } from "../../snippets/chat-snippets.ts";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { WhenOpened } from "../../ui/dialog.tsx";
import { Note } from "../../ui/page.tsx";

export function KeyTable(props: {
  readonly rows: readonly Key[];
  readonly isFiltered: boolean;
  readonly onCreate: () => void;
}) {
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

function NoKeys({ onCreate }: { readonly onCreate: () => void }) {
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

/** The selection; undefined if the reader may not change keys. A prop would redraw all rows. */
const ChoosingContext = createContext<Choosing | undefined>(undefined);

const COLUMNS: readonly Column<Key>[] = [
  {
    // This column has the checkbox, because the first column is always visible, even on a phone.
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
  column(
    "models",
    "Models",
    ({ models }) => (models === null ? "All" : <KeyModels models={models} />),
    { shownFrom: "wide", sortValue: ({ models }) => models?.length ?? Infinity },
  ),
  timeColumn("expires", "Expires", (key) => key.expires_at, {
    precision: "day",
    otherwise: "Never",
    shownFrom: "wide",
    sortValue: (key) => key.expires_at ?? "9",
  }),
  timeColumn("used", "Last used", (key) => key.last_used_at, {
    otherwise: "Never",
    sortValue: (key) => key.last_used_at ?? "",
    phone: "line",
  }),
  column("ceiling", "Ceiling", (key) => `${formatCount(key.rpm_ceiling)}/min`, {
    align: "right",
    sortValue: (key) => key.rpm_ceiling,
  }),
  column("rpm", "Your limit", (key) => <OwnLimit limited={key} />, {
    align: "right",
    sortValue: (key) => key.rpm ?? key.rpm_ceiling,
  }),
  column("cap", "Cap", (key) => <Caps of={key} />, {
    align: "right",
    phone: "line",
    sortValue: (key) => (key.cap_usd === null ? -1n : parseUsd(key.cap_usd)),
  }),
  column("spent", "Spent this month", (key) => <Spent by={key} />, {
    align: "right",
    phone: "end",
    sortValue: (key) => parseUsd(key.spent_month_usd),
  }),
];

/** Plain elements instead of Mantine's, as in `RowButton`. */
function NameAndKey({ shown }: { readonly shown: Key }) {
  return (
    <div className={`${tables.line} ${tables.first}`}>
      {canBeChosen(shown) ? <ChooseKey shown={shown} /> : null}
      <div>
        <KeyName named={shown} isLink />
        <div className={tables.deskOnly}>
          <KeyLabel labelled={shown} />
        </div>
      </div>
      {hasNews(shown) ? <KeyStatusBadge stated={shown} /> : null}
    </div>
  );
}

function ChooseKey({ shown }: { readonly shown: Key }) {
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

function KeyModels({ models }: { readonly models: readonly string[] }) {
  const [first = ""] = models;
  if (models.length === 1) return first;
  return <span title={models.join("\n")}>{formatCount(models.length)} models</span>;
}

function Spent({ by }: { readonly by: Key }) {
  const cap = strictestCap(by, Date.now());
  return (
    <>
      <Money usd={by.spent_month_usd} isBrief />
      {cap === undefined ? null : (
        <div className={tables.deskOnly}>
          <ShareBar share={cap.share} />
          <Note size="xs" style={{ whiteSpace: "nowrap" }}>
            {Math.floor(cap.share * 100)}% of {cap.name} cap
          </Note>
        </div>
      )}
    </>
  );
}

/** Shows the caps of a key. A cap that is not monthly is shown with its period. */
function Caps({ of: key }: { readonly of: Key }) {
  const set = KEY_CAPS.flatMap(({ period, field }) => {
    const usd = key[field];
    return usd === null ? [] : [{ period, usd }];
  });
  if (set.length === 0) return "No cap";
  return set.map(({ period, usd }) =>
    period === "month" ? (
      <Money key={period} usd={usd} isBrief />
    ) : (
      <Note key={period} size="xs" style={{ whiteSpace: "nowrap" }}>
        <Money usd={usd} isBrief /> a {period}
      </Note>
    ),
  );
}

/** Shows the first characters of a key, which are the only ones that are stored in the clear. */
export function KeyLabel({ labelled }: { readonly labelled: Key }) {
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

export function KeyStatusBadge({ stated }: { readonly stated: Key }) {
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
function OwnLimit({ limited }: { readonly limited: Key }) {
  const { rpm, rpm_ceiling: ceiling, rpm_effective: effective } = limited;
  const own = rpm === null ? "None" : `${formatCount(rpm)}/min`;
  if (limited.disabled_at !== null || effective >= Math.min(rpm ?? ceiling, ceiling)) return own;
  return (
    <>
      {own}
      <Note size="xs" style={{ whiteSpace: "nowrap" }}>
        now {formatCount(effective)}/min
      </Note>
    </>
  );
}

function actionColumn(props: {
  readonly mayChange: boolean;
  readonly onEdit: (key: Key) => void;
  readonly onDisable: (key: Key) => void;
}): Column<Key> {
  const { mayChange, onEdit, onDisable } = props;
  return actionsColumn((key) =>
    key.disabled_at === null ? (
      <div className={`${tables.line} ${tables.lineEnd}`}>
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
      </div>
    ) : null,
  );
}

function RowAction(props: {
  readonly mayChange: boolean;
  readonly label: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}) {
  return (
    <Tip label={props.label}>
      <RowButton label={props.label} disabled={!props.mayChange} onClick={props.onClick}>
        {props.children}
      </RowButton>
    </Tip>
  );
}

const EditKeyDialog = lazy(() => import("./edit-key-dialog.tsx"));
const DisableKeyDialog = lazy(() => import("./disable-key-dialog.tsx"));

export function KeyDialogs(props: {
  readonly edited: Key | undefined;
  readonly disabled: Key | undefined;
  readonly onClose: () => void;
}) {
  const { edited, disabled, onClose } = props;
  return (
    <>
      <WhenOpened opened={edited !== undefined}>
        <EditKeyDialog edited={edited} onClose={onClose} />
      </WhenOpened>
      <WhenOpened opened={disabled !== undefined}>
        <DisableKeyDialog disabled={disabled} onClose={onClose} />
      </WhenOpened>
    </>
  );
}
