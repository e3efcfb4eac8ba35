import { Group, Text } from "@mantine/core";
import { CircleAlert, CircleX, Info } from "lucide-react";
import type { ReactNode } from "react";

import kit from "./kit.module.css";

export interface BannerProps {
  readonly tone: "info" | "warn" | "bad";
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

export function Banner({ tone, children, action }: BannerProps) {
  const Mark = tone === "info" ? Info : tone === "warn" ? CircleAlert : CircleX;
  return (
    <div className={`${kit.banner} ${kit[`banner-${tone}`]}`}>
      <Group gap="xs" wrap="nowrap" align="center">
        <Mark size={16} aria-hidden className={kit.bannerMark} />
        <Text size="sm" component="div">
          {children}
        </Text>
      </Group>
      <div className={kit.bannerActions}>{action}</div>
    </div>
  );
}
