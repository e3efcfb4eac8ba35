import { Button, Group, Stack } from "@mantine/core";
import { Plus } from "lucide-react";
import { lazy, useRef } from "react";

import type { KeyList } from "../../api/contract.ts";
import { useAnswer, useMay } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer, Loading } from "../../ui/answer.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Note, Page, Panel, RoleNote } from "../../ui/page.tsx";
import { SearchField, useSearchText } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";
import { WhenOpened } from "../../ui/dialog.tsx";
import { KeyTable } from "./key-table.tsx";
import { matchKeys, toSearchTerm, type KeyStatus } from "./match-keys.ts";

const CreateKeyDialog = lazy(() => import("./create-key-dialog.tsx"));

export function KeysPage() {
  const answer = useAnswer("GET /api/console/keys");
  // The page's URL says whether the dialog is open, so that the palette and links can open it.
  const [filters, setFilters] = useFilters<{ create?: string }>();
  const create = (): void => setFilters({ create: "1" });
  const mayChange = useMay("keys");
  const createButton = useRef<HTMLButtonElement>(null);
  const isOpened = filters.create !== undefined && mayChange && answer.data !== undefined;
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
      <RoleNote need="keys" what="create and change keys" />
      <Answer
        of={answer}
        skeleton={
          <Panel>
            <Loading rows={7} />
          </Panel>
        }
      >
        {(list) => <KeyListPanel list={list} onCreate={create} />}
      </Answer>
      <WhenOpened opened={isOpened}>
        <CreateKeyDialog
          opened={isOpened}
          rpmMax={answer.data?.rpm_max ?? 0}
          onClose={() => setFilters({ create: "" })}
          // The focused form is gone, so the focus goes to the button that opened the dialog.
          onSaved={() => createButton.current?.focus()}
        />
      </WhenOpened>
    </Page>
  );
}

function KeyListPanel(props: { readonly list: KeyList; readonly onCreate: () => void }) {
  const { list, onCreate } = props;
  const [filters, setFilters] =
    useFilters<Partial<Record<"status" | "q" | "search" | "tag", string>>>();
  const [search, setSearch] = useSearchText(filters.q ?? filters.search, (text) =>
    // Older links have the search text in `search` instead of `q`.
    setFilters({ q: text, search: "" }, { history: "typed" }),
  );
  const status = STATUSES.find(({ value }) => value === filters.status)?.value ?? "active";
  const tag = filters.tag === "" ? undefined : filters.tag;
  const named = [...new Set(list.data.flatMap((key) => key.tags))].sort().slice(0, TAGS_SHOWN);
  // The tag of the URL stays chosen, also beyond the shown ones, or if no key has it.
  const tags = tag === undefined || named.includes(tag) ? named : [...named, tag];
  return (
    <Panel>
      <Stack gap="md">
        <Group justify="space-between" gap="sm">
          <FilterChips
            label="Status"
            options={STATUSES}
            value={status}
            onChange={(value) =>
              setFilters({ status: value === "active" ? "" : value }, { history: "step" })
            }
          />
          <SearchField
            label="Name or first 12 characters"
            value={search}
            onChange={(text) => setSearch(toSearchTerm(text))}
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
            onChange={(value) => setFilters({ tag: value }, { history: "step" })}
          />
        )}
        <KeyTable
          rows={matchKeys(list.data, { status, search, ...(tag !== undefined && { tag }) })}
          isFiltered={search !== "" || list.data.length > 0}
          onCreate={onCreate}
        />
        <Note>
          Monthly caps follow the calendar month in UTC and reset on{" "}
          <Time at={list.cap_reset_at} precision="day" />, weekly caps on{" "}
          <Time at={list.week_reset_at} precision="day" />, daily caps at 00:00 UTC. If the
          organization has a cap too, the strictest applies.
        </Note>
      </Stack>
    </Panel>
  );
}

const TAGS_SHOWN = 30;

const STATUSES: readonly { readonly value: KeyStatus; readonly label: string }[] = [
  { value: "active", label: "Active" },
  { value: "expired", label: "Expired" },
  { value: "disabled", label: "Disabled" },
  { value: "all", label: "All" },
];
