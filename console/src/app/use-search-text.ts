import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";

/**
 * The text of a search field whose value is also in the address. The field keeps its own: the
 * address follows when typing pauses for `pauseMs`, and letters that are typed before the page has
 * caught up with the address are not lost. A link to another view, and Back, set the field.
 */
export function useSearchText(
  inAddress: string | undefined,
  write: (text: string) => void,
  pauseMs = 0,
): [string, (text: string) => void] {
  const [text, setText] = useState(inAddress ?? "");
  const address = inAddress ?? "";
  /** Texts that this field has written and that the page has not been drawn with yet, oldest first. */
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
