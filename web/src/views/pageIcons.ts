/** The icons of the pages, in navigation order. */

import type { IconName } from "../components/Icon.svelte";
import type { PlainPage } from "../state/route.svelte";

export const PAGE_ICONS: Record<PlainPage, IconName> = {
  approvals: "shield",
  schedules: "calendar",
  variables: "key",
  usage: "chart",
  system: "screen",
};
