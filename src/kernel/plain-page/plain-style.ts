/** The colors, and the names that begin with `--tm-`, are those of `console/src/app/theme.ts`. */
export const PLAIN_STYLE = `
:root { color-scheme: light dark; --accent: #0c6480; --accent-text: #ffffff; --text: #000000;
  --tm-ground: #f6f7f9; --tm-surface: #ffffff; --tm-sunken: #f1f3f6; --tm-bad: #c42727;
  --tm-info-ground: #e6f1f5; --tm-warn-ground: #fff3d6; --tm-bad-ground: #fde8e8;
  --link: #0c6480; --dimmed: #59626e; --border: #d9dde3; }
@media (prefers-color-scheme: dark) {
  :root { --accent: #18718c; --text: #d5d8dc;
    --tm-ground: #111317; --tm-surface: #181b20; --tm-sunken: #0f1115; --tm-bad: #ff8a8a;
    --tm-info-ground: #122a33; --tm-warn-ground: #33270d; --tm-bad-ground: #3a1719;
    --link: #58a0b6; --dimmed: #9aa2ad; --border: #30363f; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column;
  font: 16px/1.55 Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue",
    "Noto Sans", "Liberation Sans", sans-serif;
  background: var(--tm-ground); color: var(--text); }
header, footer { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 20px;
  padding: 12px 20px; font-size: 14px; }
header { background: var(--tm-surface); border-bottom: 1px solid var(--border); }
footer { color: var(--dimmed); }
header a, footer a { display: inline-block; min-height: 24px; }
.brand { display: inline-flex; align-items: center; gap: 10px; margin-right: auto;
  font-size: 16px; font-weight: 650; letter-spacing: -0.01em; color: inherit;
  text-decoration: none; }
.ground { fill: #0c6480; }
.stroke { fill: none; stroke: #fff; stroke-width: 3; stroke-linecap: round; }
main { flex: 1; display: grid; align-content: center; justify-content: center; gap: 24px 56px;
  grid-template-columns: minmax(0, 27rem); padding: 24px 16px 10vh; }
.wide { grid-template-columns: minmax(0, 34rem) minmax(0, 24rem); align-items: center; }
@media (max-width: 60rem) {
  .wide { grid-template-columns: minmax(0, 34rem); }
  .wide .first { order: -1; }
}
.card { min-width: 0; padding: 32px; border: 1px solid var(--border); border-radius: 8px;
  background: var(--tm-surface); }
@media (max-width: 30rem) { .card { padding: 20px; } }
h1, h2 { margin: 0 0 12px; font-weight: 600; line-height: 1.25; }
h1 { font-size: 26px; }
.wide h1 { font-size: clamp(26px, 4vw, 34px); letter-spacing: -0.02em; }
h2 { font-size: 20px; }
p, ul { margin: 0 0 16px; }
ul { padding-left: 20px; }
p:last-child, form:last-child { margin-bottom: 0; }
li { margin-bottom: 6px; }
.small { font-size: 14px; color: var(--dimmed); }
.note { padding: 8px 12px; border-radius: 8px; background: var(--tm-info-ground); }
.warn { background: var(--tm-warn-ground); }
.bad { background: var(--tm-bad-ground); }
.amount { font-size: 32px; font-weight: 600; font-variant-numeric: tabular-nums; }
a { color: var(--link); }
form { margin: 0 0 12px; }
label { display: block; margin-bottom: 4px; font-weight: 500; }
fieldset { margin: 0 0 16px; padding: 8px 12px; border: 1px solid var(--border);
  border-radius: 8px; }
input[type=email] { width: 100%; min-height: 44px; margin-bottom: 4px; padding: 8px 12px;
  font: inherit; color: inherit; background: var(--tm-surface);
  border: 1px solid var(--dimmed); border-radius: 8px; }
input[aria-invalid] { border-color: var(--tm-bad); }
button, .button { display: block; width: 100%; min-height: 44px; padding: 9px 20px; font: inherit;
  font-weight: 600; line-height: 1.5; text-align: center; text-decoration: none; cursor: pointer;
  border: 1px solid var(--accent); border-radius: 8px; background: var(--accent);
  color: var(--accent-text); }
button.other { font-weight: 400; color: var(--text); background: transparent;
  border-color: var(--dimmed); }
.figures { display: flex; flex-wrap: wrap; gap: 16px 40px; margin: 24px 0; padding: 0;
  list-style: none; }
.figures strong { display: block; font-size: 26px; font-weight: 600; line-height: 1.2; }
.figures li { margin: 0; font-size: 14px; color: var(--dimmed); }
.figures strong { color: var(--text); }
.whole { grid-column: 1 / -1; min-width: 0; }
.models { width: 100%; border-collapse: collapse; font-size: 14px;
  font-variant-numeric: tabular-nums; }
.models th { font-weight: 500; color: var(--dimmed); }
.models th, .models td { padding: 10px 8px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--border); }
.models tr:last-child td { border-bottom: 0; }
.models :is(th, td):first-child { text-align: left; white-space: normal; }
.models span { display: block; font-size: 12px; color: var(--dimmed); }
@media (max-width: 40rem) {
  .models :is(th, td):nth-child(2), .models span { display: none; }
}
.sample { position: relative; }
.sample button { position: absolute; top: 6px; right: 6px; width: auto; min-height: 32px;
  padding: 2px 12px; font-size: 14px; }
.shot { display: block; width: 100%; height: auto; border: 1px solid var(--border);
  border-radius: 8px; }
pre { margin: 0 0 16px; padding: 12px 14px; white-space: pre-wrap; overflow-wrap: anywhere;
  border: 1px solid var(--border); border-radius: 8px; background: var(--tm-sunken); }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono",
    "DejaVu Sans Mono", monospace; font-size: 14px; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
`;

/** Only for pages of the console's own server, which has the font. */
export const PLAIN_FONT = `
@font-face { font-family: Inter; font-weight: 400 700; font-display: fallback;
  src: url(/inter.woff2) format("woff2"); }`;
