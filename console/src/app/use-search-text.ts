import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";

/**
 * The text of a search field, which is also kept in the page's URL. The URL changes when typing has
 * paused for `pauseMs` milliseconds. Letters typed before the page has rendered the new URL are not
 * lost. Back, or a link to another view, sets the field.
 */
export function useSearchText(
  inAddress: string | undefined,
  write: (text: string) => void,
  pauseMs = 0,
): [string, (text: string) => void] {
  const [text, setText] = useState(inAddress ?? "");
  const address = inAddress ?? "";
  /** Texts that were written to the URL but not rendered yet, oldest first. */
  const written = useRef<string[]>([]);
  const writeNow = (typed: string): void => {
    if (typed !== (written.current.at(-1) ?? address)) written.current.push(typed);
    write(typed);
  };
  const writeSoon = useDebouncedCallback(writeNow, pauseMs);
  useEffect(() => {
    const own = written.current.indexOf(address);
    written.current.splice(0, own === -1 ? Infinity : own + 1);
    if (own !== -1) return;
    writeSoon.cancel();
    setText(address);
  }, [address, writeSoon]);
  return [
    text,
    (typed) => {
      setText(typed);
      if (pauseMs === 0) writeNow(typed);
      else writeSoon(typed);
    },
  ];
}
