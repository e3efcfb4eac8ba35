import { Anchor } from "@mantine/core";
import type { ReactElement } from "react";

/** Where people find help: a link, an email address, or a text of the operator. */
export function Support({ support }: { readonly support: string | null }): ReactElement {
  if (support === null || support === "") return <>Ask the operator of this installation.</>;
  const href = supportAddress(support);
  return (
    <>
      Support:{" "}
      {href === undefined ? (
        support
      ) : (
        <Anchor href={href} inherit>
          {support}
        </Anchor>
      )}
    </>
  );
}

function supportAddress(support: string): string | undefined {
  if (/^https?:\/\//.test(support)) return support;
  return /^[^\s@/]+@[^\s@/]+$/.test(support) ? `mailto:${support}` : undefined;
}
