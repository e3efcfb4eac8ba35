import { createTheme, type CSSVariablesResolver, type MantineThemeOverride } from "@mantine/core";

/**
 * The console's theme. The shades are chosen by contrast: text on filled buttons and dimmed text
 * have a contrast of at least 4.5 to 1 in the light and the dark color scheme.
 */
export const theme: MantineThemeOverride = createTheme({
  primaryColor: "market",
  primaryShade: { light: 8, dark: 7 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: "md",
  cursorType: "pointer",
  fontFamily:
    'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace',
  // Three sizes for texts; the largest titles and figures are larger.
  fontSizes: { xs: "0.75rem", sm: "0.875rem", md: "1rem", lg: "1rem", xl: "1rem" },
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "1.5rem" },
      h2: { fontSize: "1.5rem" },
      h3: { fontSize: "1rem" },
      h4: { fontSize: "1rem" },
      h5: { fontSize: "0.875rem" },
      h6: { fontSize: "0.875rem" },
    },
  },
  colors: {
    market: [
      "#e8f3f6",
      "#d3e5eb",
      "#a8cbd7",
      "#7bb2c4",
      "#58a0b6",
      "#3f8fa8",
      "#2a7f99",
      "#18718c",
      "#0c6480",
      "#04506a",
    ],
    dark: [
      "#d5d8dc",
      "#b4b9c0",
      "#959ca6",
      "#6b727d",
      "#3a4049",
      "#2c3139",
      "#22262d",
      "#181b20",
      "#121418",
      "#0c0e11",
    ],
  },
  // Components are named, not imported, so that each is loaded with the first page that uses it.
  components: {
    Modal: {
      defaultProps: {
        closeButtonProps: { "aria-label": "Close dialog" },
        centered: true,
        // The scroll bar stays visible under a dialog, so no padding has to replace its width.
        removeScrollProps: { removeScrollBar: false },
        // Without this role, the dialog's `header` element would be a second banner landmark.
        attributes: { header: { role: "presentation" } },
      },
    },
    Drawer: {
      defaultProps: {
        closeButtonProps: { "aria-label": "Close" },
        removeScrollProps: { removeScrollBar: false },
        attributes: { header: { role: "presentation" } },
      },
    },
    // Most fields take texts that a browser cannot suggest.
    TextInput: { defaultProps: { autoComplete: "off" } },
    // A text area grows with its text, up to its `maxRows`.
    Textarea: { defaultProps: { autosize: true, minRows: 2 } },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray" } },
    Badge: { defaultProps: { variant: "default", radius: "sm", tt: "none", fw: 500 } },
    // Links in sentences are underlined, because color alone is not enough.
    Anchor: { defaultProps: { underline: "always" } },
  },
});

/** The console's tones. Mantine's dimmed texts, errors and placeholders are too faint on white. */
const TONES: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  "--mantine-color-body": ["#ffffff", "#181b20"],
  "--tm-ground": ["#f6f7f9", "#111317"],
  "--mantine-color-dimmed": ["#59626e", "#9aa2ad"],
  "--mantine-color-placeholder": ["#6a727d", "#8b939e"],
  "--mantine-color-error": ["#c42727", "#ff8a8a"],
  "--mantine-color-default-border": ["#d9dde3", "#30363f"],
  "--tm-surface": ["#ffffff", "#181b20"],
  "--tm-sunken": ["#f1f3f6", "#0f1115"],
  "--tm-ok": ["#1b7a3d", "#5ecb86"],
  "--tm-warn": ["#9a5b00", "#f0b34a"],
  "--tm-bad": ["#c42727", "#ff8a8a"],
  "--tm-info-ground": ["#e6f1f5", "#122a33"],
  "--tm-warn-ground": ["#fff3d6", "#33270d"],
  "--tm-bad-ground": ["#fde8e8", "#3a1719"],
  "--tm-tip-text": ["#ffffff", "#12161b"],
  "--tm-tip-ground": ["#20262e", "#dfe3e8"],
  "--tm-chosen-text": ["#04506a", "#9ad0e2"],
  "--tm-chosen-ground": ["#e3f0f4", "#14303a"],
};

export const cssVariables: CSSVariablesResolver = () => {
  const tones = Object.entries(TONES);
  return {
    variables: {},
    light: Object.fromEntries(tones.map(([name, [light]]) => [name, light])),
    dark: Object.fromEntries(tones.map(([name, [, dark]]) => [name, dark])),
  };
};
