import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import type { Session } from "../api/contract.ts";
import { readJump } from "./jump.ts";
import { PLACES, placesFor } from "./places.ts";
import { singleKeys } from "../ui/browser-switch.ts";

/** Milliseconds within which a letter must follow `g`. */
const PREFIX_MS = 1_500;

export interface ShortcutOptions {
  readonly onPalette: () => void;
  readonly onHelp: () => void;
  readonly session: Session;
}

export function useShortcuts(options: ShortcutOptions): void {
  const navigate = useNavigate();
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  useEffect(() => {
    let prefixedAt = Number.NEGATIVE_INFINITY;
    function onKeyDown(event: KeyboardEvent): void {
      const isPrefixed = event.timeStamp - prefixedAt < PREFIX_MS;
      prefixedAt = Number.NEGATIVE_INFINITY;
      const { onPalette, onHelp, session } = latest.current;
      const places = placesFor(PLACES, session);
      const jump = readJump(
        {
          key: event.key,
          hasCommand: event.metaKey || event.ctrlKey,
          hasAlt: event.altKey,
          isTyping: isTyping(event.target),
          isPrefixed,
          areSingleKeysOn: singleKeys.isOn(),
        },
        new Map(places.map(({ letter, to }) => [letter, to])),
      );
      if (jump.kind === "nothing" || event.defaultPrevented) return;
      if (jump.kind === "search" && !focusSearch()) return;
      event.preventDefault();
      if (jump.kind === "prefix") prefixedAt = event.timeStamp;
      if (jump.kind === "palette") onPalette();
      if (jump.kind === "help") onHelp();
      if (jump.kind === "go") void navigate({ to: jump.to });
    }
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [navigate]);
}

/** True in text fields, and while a dialog is open. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (document.querySelector('[role="dialog"], [role="alertdialog"]') !== null) return true;
  return target.isContentEditable || target.matches(TEXT_FIELDS);
}
const TEXT_FIELDS =
  'textarea, select, input:not([type="radio"], [type="checkbox"], [type="button"], [type="range"])';

function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("main input[data-search-field]");
  field?.focus();
  field?.select();
  return field !== null;
}
