import "./more-styles.ts";

import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { Fragment, useId, useMemo, useState, type KeyboardEvent } from "react";

import { useAnswer, useSession } from "../api/use-answer.ts";
import { notifyFault } from "../ui/notice.ts";
import { findCommands, noteRecent, readRecent, withRecent, type Command } from "./find-commands.ts";
import { findId } from "./find-id.ts";
import { PLACES, placesFor } from "./places.ts";
import shell from "./shell.module.css";
import { signInAddress, signOut } from "./sign-in.ts";
import { SUB_PLACES } from "./sub-places.ts";

type RunnableCommand = Command & { readonly run: () => void };

/** Finds pages, actions, keys, models, guides and pasted IDs. The typed text is not sent. */
export default function CommandPalette({ onClose }: { readonly onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const [recent] = useState(readRecent);
  const listId = useId();
  const commands = useCommands();
  const idCommand = useIdCommand(query);
  const found = useMemo(
    () => idCommand ?? findCommands(withRecent(commands, recent, query), query),
    [idCommand, commands, recent, query],
  );

  function run(command: RunnableCommand | undefined): void {
    if (command === undefined) return;
    onClose();
    noteRecent(command.id.replace(/^recent /, ""));
    command.run();
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      const next = (chosen + step + found.length) % found.length;
      setChosen(next);
      document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "Enter") {
      event.preventDefault();
      run(found[chosen]);
    }
  }

  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      centered={false}
      yOffset="12vh"
      size="lg"
      padding="xs"
      attributes={{ content: { "aria-label": "Search pages, keys, and models" } }}
    >
      <TextInput
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
        placeholder="Search pages, keys, and models"
        aria-label="Search pages, keys, and models"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-autocomplete="list"
        {...(found.length === 0 ? {} : { "aria-activedescendant": `${listId}-${chosen}` })}
        leftSection={<Search size={16} aria-hidden />}
        spellCheck={false}
        size="md"
        data-autofocus
      />
      <Found listId={listId} found={found} chosen={chosen} onRun={run} onChoose={setChosen} />
    </Modal>
  );
}

function Found(props: {
  readonly listId: string;
  readonly found: readonly RunnableCommand[];
  readonly chosen: number;
  readonly onRun: (command: RunnableCommand) => void;
  readonly onChoose: (index: number) => void;
}) {
  const { listId, found, chosen } = props;
  return (
    <div role="listbox" id={listId} aria-label="Results" className={shell.found}>
      {found.length === 0 ? (
        <div role="option" aria-selected={false} aria-disabled className={shell.foundRow}>
          No results
        </div>
      ) : null}
      {found.map((command, index) => (
        <Fragment key={command.id}>
          {command.group === found[index - 1]?.group ? null : (
            <div className={shell.foundGroup} role="presentation">
              {command.group}
            </div>
          )}
          <div
            role="option"
            id={`${listId}-${index}`}
            aria-selected={index === chosen}
            className={shell.foundRow}
            onClick={() => props.onRun(command)}
            onMouseMove={({ movementX, movementY }) => {
              // The browser also sends this event when the list changes under a still pointer.
              if (movementX !== 0 || movementY !== 0) props.onChoose(index);
            }}
          >
            <span>{command.label}</span>
            <span className={shell.foundHint}>{command.hint}</span>
          </div>
        </Fragment>
      ))}
    </div>
  );
}

function useIdCommand(query: string): readonly RunnableCommand[] | undefined {
  const { state } = useSession();
  const navigate = useNavigate();
  return useMemo(() => {
    const place = state === "signed_in" ? findId(query) : undefined;
    if (place === undefined) return undefined;
    const { label, to, params } = place;
    const hint = Object.values(params)[0] ?? "";
    const run = (): void => void navigate({ to, params });
    return [{ id: `id ${hint}`, group: "IDs", label: `Open ${label.toLowerCase()}`, hint, run }];
  }, [state, query, navigate]);
}

function useCommands(): readonly RunnableCommand[] {
  const { state, is_operator } = useSession();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const isSignedIn = state === "signed_in";
  const keys = useAnswer("GET /api/console/keys", undefined, { enabled: isSignedIn }).data?.data;
  const models = useAnswer("GET /api/catalog.json").data?.models;
  return useMemo(() => {
    const go = (to: string, params?: Record<string, string>) => () => void navigate({ to, params });
    const below = placesFor(SUB_PLACES, { state, is_operator }).map((place) => {
      const { to, label, group, search, keywords = "" } = place;
      const run = (): void => void navigate({ to, ...(search === undefined ? {} : { search }) });
      return { id: `${group} ${label}`, group, label, keywords, run } as const;
    });
    const ofGroup = (name: Command["group"]) => below.filter(({ group }) => group === name);
    return [
      ...placesFor(PLACES, { state, is_operator }).map(({ to, label, letter, keywords = "" }) => {
        const hint = `g ${letter}`;
        return { id: to, group: "Pages", label, hint, keywords, run: go(to) } as const;
      }),
      ...ofGroup("Pages"),
      ...ofGroup("Actions"),
      ...(keys ?? []).map(({ key_id, name, label, disabled_at, is_expired }) => {
        const unusable = is_expired ? "expired" : undefined;
        const hint = disabled_at === null ? (unusable ?? `${label}…`) : "disabled";
        const run = go("/keys/$keyId", { keyId: key_id });
        return { id: key_id, group: "Keys", label: name, hint, keywords: label, run } as const;
      }),
      ...(models ?? []).map(({ id, name }) => {
        const run = go("/models/$", { _splat: id });
        return { id: `model ${id}`, group: "Models", label: name, hint: id, run } as const;
      }),
      ...ofGroup("Docs"),
      ...(["light", "dark", "auto"] as const).map((scheme) => {
        const label = `Appearance: ${scheme === "auto" ? "system" : scheme}`;
        const run = (): void => setColorScheme(scheme);
        return { id: `scheme ${scheme}`, group: "Actions", label, run } as const;
      }),
      isSignedIn
        ? action("Sign out", () => void signOut().catch(notifyFault))
        : action("Sign in", () => globalThis.location.assign(signInAddress({}))),
    ];
  }, [state, isSignedIn, is_operator, keys, models, navigate, setColorScheme]);
}

function action(label: string, run: () => void): RunnableCommand {
  return { id: label, group: "Actions", label, run };
}
