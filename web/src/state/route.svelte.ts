/** The address bar: which conversation is open, and a sign-in code that must not stay there. */

export type Route = { view: "start" } | { view: "conversation"; agentId: string };

export function parseRoute(hash: string): Route {
  const match = /^#\/c\/([^/?]+)$/.exec(hash);
  return match?.[1]
    ? { view: "conversation", agentId: decodeURIComponent(match[1]) }
    : { view: "start" };
}

export function agentHref(agentId: string): string {
  return `#/c/${encodeURIComponent(agentId)}`;
}

/** The one-time code of a sign-in link; taken out of the address bar at once. */
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
}

export const router = new Router();
