import { Anchor, Button, type AnchorProps, type ButtonProps } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";

export interface Target {
  /** A page of the console: `"/keys"`, or `"/keys/$keyId"` with `params`. */
  readonly to: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly search?: Readonly<Record<string, string | undefined>>;
}

export function AppLink({
  to,
  params,
  search,
  ...anchor
}: Target & AnchorProps & { readonly children: ReactNode }): ReactElement {
  // A link without a size is as large as the sentence around it.
  const isInline = anchor.size === undefined;
  return <Anchor inherit={isInline} {...anchor} renderRoot={linkTo({ to, params, search })} />;
}

export function LinkButton({
  to,
  params,
  search,
  ...button
}: Target & ButtonProps & { readonly children: ReactNode }): ReactElement {
  return <Button {...button} renderRoot={linkTo({ to, params, search })} />;
}

/** Makes a Mantine component a link of the router, through `renderRoot`. */
export function linkTo(target: {
  readonly to: string;
  readonly params?: Target["params"] | undefined;
  readonly search?: Target["search"] | undefined;
}): (props: Record<string, unknown>) => ReactElement {
  const { to, params, search } = target;
  return function RoutedLink(props) {
    return (
      <Link
        {...props}
        to={to}
        {...(params === undefined ? {} : { params })}
        {...(search === undefined ? {} : { search })}
      />
    );
  };
}
