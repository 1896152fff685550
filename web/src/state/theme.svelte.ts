/** The theme: the system's or a chosen one. `public/theme.js` applies it before the first paint. */

import type { IconName } from "../components/Icon.svelte";

export type Theme = "system" | "light" | "dark";

export const THEMES: readonly { name: Theme; label: string; icon: IconName }[] = [
  { name: "system", label: "System", icon: "screen" },
  { name: "light", label: "Light", icon: "sun" },
  { name: "dark", label: "Dark", icon: "moon" },
];

const KEY = "retinue:theme";

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

class ThemeChoice {
  current = $state<Theme>(stored());

  choose(theme: Theme): void {
    this.current = theme;
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }
}

export const theme = new ThemeChoice();
