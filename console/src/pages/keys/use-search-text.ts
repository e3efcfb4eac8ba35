import { useEffect, useState } from "react";

/**
 * The text of a search field whose value is also in the address. The field keeps its own: the
 * address follows a moment later, and letters that are typed in between must not be lost.
 */
export function useSearchText(
  inAddress: string | undefined,
  write: (text: string) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(inAddress ?? "");
  // A link to the unfiltered page empties the field.
  useEffect(() => {
    if (inAddress === undefined) setText("");
  }, [inAddress]);
  return [
    text,
    (typed) => {
      setText(typed);
      write(typed);
    },
  ];
}
