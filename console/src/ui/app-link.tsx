import { Anchor, Button, type AnchorProps, type ButtonProps } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";

import { defined } from "../../../src/kernel/core/defined.ts";

export interface Target {
  /** Route of a page of the console, such as `"/keys"`, or `"/keys/$keyId"` with `params`. */
  readonly to: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly search?: Readonly<Record<string, string | undefined>>;
}

export function AppLink({
  to,
  params,
  search,
  ...anchor
}: Target & AnchorProps & { readonly children: ReactNode }) {
  // A link without a size gets the size of the sentence around it.
  const isInline = anchor.size === undefined;
  return <Anchor inherit={isInline} {...anchor} renderRoot={linkTo(to, { params, search })} />;
}

/** A link that looks like a button, by default not the page's main one. */
export function LinkButton({
  to,
  params,
  search,
  ...button
}: Target & ButtonProps & { readonly children: ReactNode }) {
  return <Button variant="default" {...button} renderRoot={linkTo(to, { params, search })} />;
}

/** A `renderRoot` that makes a Mantine component a link of the router. */
function linkTo(
  to: string,
  more: { readonly params: Target["params"]; readonly search: Target["search"] },
): (props: Record<string, unknown>) => ReactElement {
  return function RoutedLink(props) {
    return <Link {...props} to={to} {...defined(more)} />;
  };
}
