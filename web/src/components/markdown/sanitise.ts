/**
 * Sanitises HTML from untrusted text.
 *
 * HTML is reduced to an allowlist and converted to nodes that are inserted without parsing them again.
 * Nothing causes a request to another host.
 */

import DOMPurify from "dompurify";

const TAGS = [
  ..."a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd".split(
    " ",
  ),
  ..."li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead".split(
    " ",
  ),
  ..."tr u ul var".split(" "),
];
const ATTRIBUTES = [
  "align",
  "alt",
  "class",
  "colspan",
  "href",
  "open",
  "rowspan",
  "src",
  "start",
  "title",
];
const KNOWN_SCHEMES = /^(?:(?:https?|mailto):|[^a-z]|[a-z+.-]+(?:[^a-z+.:-]|$))/i;
const LANGUAGE_CLASS = /^language-[\w+#.-]{1,40}$/;
const SAFE_LINK = /^(?:https?:\/\/|mailto:)/i;
const INLINE_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/=\s]+$/i;
const HAS_SCHEME = /^(?:[a-z][a-z0-9+.-]*:|\/\/|\\)/i;

const purifier = DOMPurify(window);

export interface SanitiseOptions {
  /** The URL of an agent's file, for images that reference one by path. */
  fileUrl?: (path: string) => string;
}

export function sanitise(html: string, options: SanitiseOptions = {}): DocumentFragment {
  const fragment = purifier.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: KNOWN_SCHEMES, // a first filter: each URL is checked again below
    RETURN_DOM_FRAGMENT: true,
    SANITIZE_DOM: true,
  });
  for (const element of fragment.querySelectorAll("*")) cleanAttributes(element);
  for (const link of fragment.querySelectorAll("a")) guardLink(link);
  for (const image of fragment.querySelectorAll("img")) guardImage(image, options);
  for (const entry of fragment.querySelectorAll("li")) {
    if (/^[☐☑]/.test(entry.textContent ?? "")) entry.className = "task";
  }
  for (const table of fragment.querySelectorAll("table")) wrap(table, "table-scroll");
  return fragment;
}

function cleanAttributes(element: Element): void {
  const isCode = element.localName === "code";
  const classes = [...element.classList].filter((name) => isCode && LANGUAGE_CLASS.test(name));
  if (classes.length) element.className = classes.join(" ");
  else element.removeAttribute("class");
  if (element.localName !== "a") element.removeAttribute("href");
  if (element.localName !== "img") element.removeAttribute("src");
}

function guardLink(link: HTMLAnchorElement): void {
  const address = (link.getAttribute("href") ?? "").trim();
  if (!SAFE_LINK.test(address)) {
    link.replaceWith(...link.childNodes);
    return;
  }
  link.setAttribute("href", address);
  link.target = "_blank";
  link.rel = "noopener noreferrer";
}

function guardImage(image: HTMLImageElement, options: SanitiseOptions): void {
  const source = (image.getAttribute("src") ?? "").trim();
  const text = image.getAttribute("alt") ?? "";
  if (INLINE_IMAGE.test(source)) return;
  if (source && options.fileUrl && !HAS_SCHEME.test(source)) {
    image.src = options.fileUrl(source);
    image.loading = "lazy";
    return;
  }
  const remote = remoteAddress(source);
  const box = document.createElement(remote ? "a" : "span");
  box.className = "remote-image";
  if (remote && box instanceof HTMLAnchorElement) {
    box.href = remote.href;
    box.target = "_blank";
    box.rel = "noopener noreferrer";
    box.title = "Images from other sites are not loaded automatically. Opens in a new tab.";
  }
  const label = document.createElement("span");
  label.textContent = text || "Image";
  const origin = document.createElement("small");
  origin.textContent = remote ? `Open image from ${remote.host}` : "Image can’t be displayed";
  box.append(label, origin);
  // Links cannot be nested: a linked image replaces its link.
  const parent = image.closest("a");
  if (parent && box.localName === "a") {
    image.remove();
    parent.after(box);
    if (!parent.textContent?.trim()) parent.remove();
  } else image.replaceWith(box);
}

function remoteAddress(source: string): URL | null {
  try {
    const url = new URL(source.startsWith("//") ? `https:${source}` : source);
    return url.protocol === "https:" || url.protocol === "http:" ? url : null;
  } catch {
    return null;
  }
}

function wrap(element: Element, className: string): void {
  const box = document.createElement("div");
  box.className = className;
  box.tabIndex = 0;
  element.replaceWith(box);
  box.append(element);
}
