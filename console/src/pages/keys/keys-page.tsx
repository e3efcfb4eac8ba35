import { Button, Group, Stack, Text } from "@mantine/core";
import { Plus } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";

import type { CreatedKey, KeyList } from "../../../../src/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { useSession } from "../../api/use-session.ts";
import { useFilters } from "../../app/use-filters.ts";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { helloSnippets } from "../../snippets/chat-snippets.ts";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { Answer } from "../../ui/answer.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { SecretOnce } from "../../ui/secret-once.tsx";
import { Time } from "../../ui/time.tsx";
import { CreateKeyDialog } from "./create-key-dialog.tsx";
import { KeyTable } from "./key-table.tsx";
import { matchKeys, searchTermOf, type KeyStatus } from "./match-keys.ts";
import { useSearchText } from "./use-search-text.ts";

/** `/keys`: every key of the organization that a person made. */
export function KeysPage(): ReactNode {
  const answer = useAnswer("GET /api/console/keys");
  // In the address, so that the palette and a link open it too.
  const [filters, setFilters] = useFilters<{ create: string | undefined }>();
  const isCreating = filters.create !== undefined;
  const setIsCreating = (to: boolean): void => setFilters({ create: to ? "1" : undefined });
  // The raw key is in this page's memory alone, and only until it was saved.
  const [created, setCreated] = useState<CreatedKey>();
  const create = (): void => setIsCreating(true);
  const mayChange = useMay("keys");
  const { gateway_url: gatewayUrl } = useSession().installation;
  const sample = { gatewayUrl, modelId: useSampleModel() };
  const createButton = useRef<HTMLButtonElement>(null);
  const forget = (): void => {
    setCreated(undefined);
    // The form that opened the dialog is gone: the focus returns to where it was.
    createButton.current?.focus();
  };
  return (
    <Page
      title="Keys"
      isWide
      lead="All keys share the organization's balance."
      actions={
        <Button
          ref={createButton}
          leftSection={<Plus size={16} aria-hidden />}
          disabled={!mayChange}
          onClick={create}
        >
          Create key
        </Button>
      }
    >
      <RoleNote need="keys" what="Creating and changing keys" />
      <Answer of={answer} skeleton={<KeyListSkeleton />}>
        {(list) => (
          <>
            <KeyListPanel list={list} onCreate={create} />
            <CreateKeyDialog
              opened={isCreating && mayChange}
              rpmMax={list.rpm_max}
              onClose={() => setIsCreating(false)}
              onCreated={(key) => {
                setIsCreating(false);
                setCreated(key);
              }}
            />
          </>
        )}
      </Answer>
      <SecretOnce
        opened={created !== undefined}
        title={`Save your key “${created?.key.name ?? ""}”`}
        secret={created?.secret ?? ""}
        note="Copy it now. It is shown only once and cannot be recovered."
        onSaved={forget}
      >
        {created === undefined ? null : (
          <CallSnippets of={(wire) => helloSnippets(wire, { ...sample, secret: created.secret })} />
        )}
      </SecretOnce>
    </Page>
  );
}

function KeyListPanel(props: { readonly list: KeyList; readonly onCreate: () => void }): ReactNode {
  const { list, onCreate } = props;
  const [filters, setFilters] = useFilters<{
    status: string | undefined;
    q: string | undefined;
    search: string | undefined;
    tag: string | undefined;
  }>();
  const [search, setSearch] = useSearchText(filters.q ?? filters.search, (text) =>
    // Links of earlier releases say `search`.
    setFilters({ q: text === "" ? undefined : text, search: undefined }, { history: "typed" }),
  );
  const status = STATUSES.find(({ value }) => value === filters.status)?.value ?? "active";
  const tags = [...new Set(list.data.flatMap((key) => key.tags))].sort().slice(0, TAGS_SHOWN);
  const tag = tags.find((each) => each === filters.tag);
  return (
    <Panel>
      <Stack gap="md">
        <Group justify="space-between" gap="sm">
          <FilterChips
            label="Status"
            options={STATUSES}
            value={status}
            onChange={(value) =>
              setFilters({ status: value === "active" ? undefined : value }, { history: "step" })
            }
          />
          <SearchField
            label="Name or first 12 characters"
            value={search}
            onChange={(text) => setSearch(searchTermOf(text))}
          />
        </Group>
        {tags.length === 0 ? null : (
          <FilterChips
            label="Tag"
            options={[
              { value: "", label: "All tags" },
              ...tags.map((value) => ({ value, label: value })),
            ]}
            value={tag ?? ""}
            onChange={(value) =>
              setFilters({ tag: value === "" ? undefined : value }, { history: "step" })
            }
          />
        )}
        <KeyTable
          rows={matchKeys(list.data, { status, search, ...(tag !== undefined && { tag }) })}
          isFiltered={search !== "" || list.data.length > 0}
          onCreate={onCreate}
        />
        <Text size="sm" c="dimmed">
          Monthly caps follow the calendar month in UTC and reset on{" "}
          <Time at={list.cap_reset_at} precision="day" />, weekly caps on{" "}
          <Time at={list.week_reset_at} precision="day" />, daily caps at 00:00 UTC. If the
          organization has a cap too, the strictest applies.
        </Text>
      </Stack>
    </Panel>
  );
}

function KeyListSkeleton(): ReactNode {
  return (
    <Panel>
      <Loading rows={7} />
    </Panel>
  );
}

/** More of them would fill the page. */
const TAGS_SHOWN = 30;

const STATUSES: readonly { readonly value: KeyStatus; readonly label: string }[] = [
  { value: "active", label: "Active" },
  { value: "expired", label: "Expired" },
  { value: "disabled", label: "Disabled" },
  { value: "all", label: "All" },
];
