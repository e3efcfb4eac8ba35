import { Text } from "@mantine/core";

import { LinkButton } from "../ui/app-link.tsx";
import { Page } from "../ui/page.tsx";

export function NotFound() {
  return (
    <Page title="Page not found">
      <Text>There is no page at this address. Use the menu to find the page you want.</Text>
      <div>
        <LinkButton to="/">Go to overview</LinkButton>
      </div>
    </Page>
  );
}
