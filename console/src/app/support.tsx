import { Anchor } from "@mantine/core";
import type { ReactElement } from "react";

export function Support({ support }: { readonly support: string | null }): ReactElement | null {
  if (support === null || support === "") return null;
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
