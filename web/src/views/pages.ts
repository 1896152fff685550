/** The pages of the app by their icons, in the order of the navigation. */

import type { IconName } from "../components/Icon.svelte";
import type { PlainPage } from "../state/route.svelte";

export const PAGE_ICONS: Record<PlainPage, IconName> = {
  approvals: "shield",
  schedules: "calendar",
  variables: "key",
  usage: "chart",
  system: "screen",
};
