/** Routing by URL hash, and the one-time sign-in code. */

export type PlainPage = "approvals" | "schedules" | "variables" | "usage" | "system";
export type PageName = PlainPage | "context" | "definition" | "files";
export type Route =
  | { view: "start" }
  | { view: "page"; page: PlainPage; agentId?: string }
  | { view: "page"; page: "context"; agentId: string }
  | { view: "page"; page: "definition"; definition: string }
  | { view: "page"; page: "files"; agentId: string; path: string }
  | { view: "conversation"; agentId: string };

export const PAGES: Record<PageName, string> = {
  approvals: "Approvals",
  schedules: "Schedules",
  variables: "Variables",
  usage: "Usage",
  system: "System",
  context: "Context",
  definition: "Agent details",
  files: "Files",
};

export function parseRoute(hash: string): Route {
  const page = hash.replace(/^#\//, "");
  if (isPlainPage(page)) return { view: "page", page };
  const agentId = /^#\/variables\/([^/?]+)$/.exec(hash)?.[1];
  if (agentId) return { view: "page", page: "variables", agentId: decodeURIComponent(agentId) };
  const files = /^#\/files\/([^/?]+)((?:\/[^/?]+)*)$/.exec(hash);
  if (files?.[1]) {
    const [agent, path] = [files[1], files[2] || "/"].map(decodeURIComponent) as [string, string];
    return { view: "page", page: "files", agentId: agent, path };
  }
  const looked = /^#\/context\/([^/?]+)$/.exec(hash)?.[1];
  if (looked) return { view: "page", page: "context", agentId: decodeURIComponent(looked) };
  const named = /^#\/d\/([^/?]+)$/.exec(hash)?.[1];
  if (named) return { view: "page", page: "definition", definition: decodeURIComponent(named) };
  const match = /^#\/c\/([^/?]+)$/.exec(hash);
  return match?.[1]
    ? { view: "conversation", agentId: decodeURIComponent(match[1]) }
    : { view: "start" };
}

/** Pages that need a parameter. */
const NOT_PLAIN = new Set(["context", "definition", "files"]);

function isPlainPage(name: string): name is PlainPage {
  return !NOT_PLAIN.has(name) && Object.hasOwn(PAGES, name);
}

export function agentHref(agentId: string): string {
  return `#/c/${encodeURIComponent(agentId)}`;
}

export function definitionHref(name: string): string {
  return `#/d/${encodeURIComponent(name)}`;
}

export function pageHref(page: PlainPage): string {
  return `#/${page}`;
}

/** The variables page of an agent. */
export function variablesHref(agentId: string): string {
  return `#/variables/${encodeURIComponent(agentId)}`;
}

/** A folder of an agent's files. */
export function filesHref(agentId: string, path = "/"): string {
  const steps = path.split("/").filter(Boolean).map(encodeURIComponent);
  return ["#/files", encodeURIComponent(agentId), ...steps].join("/");
}

/** The context page of an agent. */
export function contextHref(agentId: string): string {
  return `#/context/${encodeURIComponent(agentId)}`;
}

/** Takes the one-time code of a sign-in link and removes it from the URL. */
export function takeSignInCode(): string | null {
  const match = /^#login=(.+)$/.exec(location.hash);
  if (!match?.[1]) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return decodeURIComponent(match[1]);
}

class Router {
  current = $state.raw<Route>(parseRoute(location.hash));

  constructor() {
    window.addEventListener("hashchange", () => {
      this.current = parseRoute(location.hash);
    });
  }

  go(href: string, options: { replaces?: boolean } = {}): void {
    if (options.replaces) history.replaceState(null, "", href);
    else if (location.hash !== href) history.pushState(null, "", href);
    this.current = parseRoute(href);
  }

  get agentId(): string | null {
    return this.current.view === "conversation" ? this.current.agentId : null;
  }

  get definition(): string | null {
    const { current } = this;
    return current.view === "page" && current.page === "definition" ? current.definition : null;
  }

  /** The agent whose variables are open; null for the account. */
  get variablesOf(): string | null {
    const { current } = this;
    return (current.view === "page" && current.page === "variables" && current.agentId) || null;
  }

  /** The open folder and its agent. */
  get filesOf(): { agentId: string; path: string } | null {
    const { current } = this;
    return current.view === "page" && current.page === "files" ? current : null;
  }

  /** The agent whose context is open. */
  get contextOf(): string | null {
    const { current } = this;
    return current.view === "page" && current.page === "context" ? current.agentId : null;
  }

  get page(): PageName | null {
    return this.current.view === "page" ? this.current.page : null;
  }
}

export const router = new Router();
