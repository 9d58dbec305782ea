// Checks whether people can use a page without a mouse or without seeing it. Each function returns a list of complaints.
// A number such as 1.3.1 is a criterion of WCAG 2.2, level A or AA.

const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true}) && !e.closest("[aria-hidden=true], [inert]");

const referred = (e, attribute) => (e.getAttribute(attribute) || "").split(/\s+/).filter(Boolean);

const said = e => [...e.childNodes].map(n => n.nodeType == 3 ? n.data : n.nodeType != 1 || n.getAttribute("aria-hidden") == "true" ? "" :
  n.getAttribute("aria-label") || n.getAttribute("alt") || (n.tagName == "title" || n.tagName != "STYLE" ? said(n) : "")).join("").trim();

// accessibleName returns the name that a screen reader announces. A placeholder or a tooltip does not count as a name.
function accessibleName(e) {
  const by = referred(e, "aria-labelledby").map(id => document.getElementById(id)).filter(Boolean).map(said).join(" ").trim();
  if (by) return by;
  if (e.getAttribute("aria-label")?.trim()) return e.getAttribute("aria-label").trim();
  if (e.labels?.length) return [...e.labels].map(said).join(" ").trim();
  if (e.tagName == "INPUT") return ["submit", "button", "reset"].includes(e.type) ? e.value.trim() : e.type == "image" ? e.alt.trim() : "";
  if (e.tagName == "SELECT" || e.tagName == "TEXTAREA") return "";
  if (e.tagName == "IMG") return e.alt.trim();
  if (e.tagName.toLowerCase() == "svg") return [...e.children].filter(c => c.tagName == "title").map(said).join("").trim();
  return said(e);
}

const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=link], [role=tab], [tabindex], [contenteditable]";

// 3.1.1, 2.4.2, 1.3.1, 4.1.1: the page has a language, a title and landmarks; ids are unique and references resolve.
function outline() {
  const complaints = [], main = [...document.querySelectorAll("main, [role=main]")].filter(shown);
  if (!document.documentElement.lang) complaints.push("the page has no language");
  if (!document.title.trim()) complaints.push("the page has no title");
  if (main.length != 1) complaints.push("the page has " + main.length + " main parts, want one");
  const navs = [...document.querySelectorAll("nav, [role=navigation]")].filter(shown);
  for (const n of navs) if (navs.length > 1 && !n.getAttribute("aria-label") && !n.getAttribute("aria-labelledby")) complaints.push("one of several navigations without a name: " + name(n));
  const parts = "main, header, footer, nav, aside, [role=main], [role=banner], [role=navigation], [role=contentinfo], [role=complementary], [role=region], [role=search], dialog, a[href^='#'], script, style, template, noscript";
  for (const e of document.body.querySelectorAll("*")) {
    if (!e.closest(parts) && shown(e) && [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) complaints.push("outside of all landmarks: " + name(e));
  }
  const ids = new Set();
  for (const e of document.querySelectorAll("[id]")) {
    if (ids.has(e.id)) complaints.push("the id " + e.id + " is not unique");
    ids.add(e.id);
  }
  for (const a of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) for (const e of document.querySelectorAll("[" + a + "]"))
    for (const id of referred(e, a)) if (!ids.has(id)) complaints.push(a + " refers to the missing id " + id + ": " + name(e));
  for (const a of document.querySelectorAll("a[href^='#']")) {
    const id = decodeURIComponent(a.getAttribute("href").slice(1));
    if (id && !ids.has(id)) complaints.push("a link to the missing id " + id + ": " + name(a));
  }
  return complaints;
}

// 1.3.1: the page has one h1 and skips no level of headings.
function headings() {
  const complaints = [], all = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(shown);
  if (all.filter(h => h.tagName == "H1").length != 1) complaints.push("the page has " + all.filter(h => h.tagName == "H1").length + " headings of the first level, want one");
  let last = 0;
  for (const h of all) {
    const level = +h.tagName[1];
    if (!said(h)) complaints.push("an empty heading: " + name(h));
    if (level > last + 1) complaints.push("from a heading of level " + last + " to one of level " + level + ": " + name(h));
    last = level;
  }
  return complaints;
}

// 4.1.2, 1.1.1, 2.4.3: controls and pictures have names, and the focus moves in the order of the page.
function names() {
  const complaints = [];
  for (const e of document.querySelectorAll(controls)) {
    if (e.tabIndex > 0) complaints.push("a tabindex of " + e.tabIndex + " changes the focus order: " + name(e));
    if (shown(e) && !accessibleName(e)) complaints.push("a control without a name: " + name(e) + " " + e.outerHTML.slice(0, 120));
  }
  for (const e of document.querySelectorAll("img, svg, canvas, [role=img]")) {
    if (!shown(e) || e.parentElement.closest("svg, [role=img]") || e.tagName == "IMG" && e.getAttribute("alt") === "") continue;
    if (!accessibleName(e) && !e.closest("a, button")?.textContent.trim()) complaints.push("a picture without a name: " + name(e) + " " + e.outerHTML.slice(0, 120));
    if (e.tagName.toLowerCase() == "svg" && !["img", "graphics-document", "group"].includes(e.getAttribute("role"))) complaints.push("a drawing without role=img: " + name(e));
  }
  return complaints;
}

// 1.3.1: tables have headings with a scope, and groups of a form have legends.
function tables() {
  const complaints = [];
  for (const t of [...document.querySelectorAll("table:not([role=presentation])")].filter(shown)) {
    if (!t.querySelector("th")) complaints.push("a table without a heading: " + name(t));
    for (const th of t.querySelectorAll("th")) if (!th.scope) complaints.push("a heading without a scope: " + name(th));
  }
  for (const f of [...document.querySelectorAll("fieldset")].filter(shown)) if (!f.querySelector("legend")?.textContent.trim()) complaints.push("a group without a legend: " + name(f));
  return complaints;
}

// 2.1.1: scrollable elements can be scrolled with keys.
function unscrollable() {
  return [...document.querySelectorAll("body *")].filter(e => {
    const style = getComputedStyle(e);
    const scrolls = /auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1 || /auto|scroll/.test(style.overflowY) && e.scrollHeight > e.clientHeight + 1;
    return scrolls && shown(e) && !e.matches("textarea, select") && e.tabIndex < 0 && ![...e.querySelectorAll(controls)].some(c => shown(c) && c.tabIndex >= 0);
  }).map(e => "not scrollable with keys (tabindex=0): " + name(e));
}

// 1.4.1: no coloured box is without text, because its meaning would depend on the colour alone.
function wordless() {
  const colourful = c => c[3] > .05 && Math.max(...c.slice(0, 3)) - Math.min(...c.slice(0, 3)) > 40;
  return [...document.querySelectorAll("body *")].filter(e => {
    const box = e.getBoundingClientRect();
    return !e.closest("svg, [role=img]") && box.width > 2 && box.height > 2 && shown(e) && colourful(rgba(getComputedStyle(e).backgroundColor)) &&
      !e.textContent.trim() && !accessibleName(e) && !e.matches("progress, meter, input, select") && !e.closest("button, a, [role=progressbar]")?.textContent.trim();
  }).map(e => "meaning by colour alone: " + name(e));
}

// 1.4.3: a text in a drawing has enough contrast with the shapes drawn below the text.
function faintDrawn(least) {
  const complaints = new Map();
  for (const svg of [...document.querySelectorAll("svg")].filter(shown)) {
    const under = [];
    for (const e of svg.querySelectorAll("rect, circle, text")) {
      if (e.closest("defs") || !e.checkVisibility()) continue;
      const style = getComputedStyle(e), box = e.getBoundingClientRect();
      const fill = style.fill.startsWith("rgb") || style.fill.startsWith("color") || style.fill.startsWith("ok") ? rgba(style.fill) : [0, 0, 0, 0];
      fill[3] *= style.fillOpacity * style.opacity;
      if (e.tagName != "text") { under.push({box, fill}); continue; }
      if (!e.textContent.trim()) continue;
      const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
      const lies = under.filter(u => u.box.left <= x && x <= u.box.right && u.box.top <= y && y <= u.box.bottom).reduce((c, u) => over(u.fill, c), ground(svg));
      const [low, high] = [luminance(over(fill, lies)), luminance(lies)].sort((a, b) => a - b);
      const contrast = (high + .05) / (low + .05);
      if (contrast < least) complaints.set(style.fill + lies, "a contrast of " + contrast.toFixed(2) + " in a drawing: " + name(e));
    }
  }
  return [...complaints.values()];
}

const barriers = () => [...outline(), ...headings(), ...names(), ...tables(), ...unscrollable(), ...wordless(), ...faintDrawn(4.5)];

// The functions below check a walk through the page with the Tab key. They compare each element with and without the focus.
const looks = e => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor, s.textDecorationLine, s.color].join("|"); };

const stops = () => [...document.querySelectorAll(controls + ", iframe")].filter(e => shown(e) && e.tabIndex >= 0 && !e.disabled &&
  !(e.type == "radio" && !e.checked) && (e.tagName != "SUMMARY" || e.parentElement.querySelector("summary") == e));

function setOut() {
  document.documentElement.style.scrollBehavior = "auto"; // no animation while positions are measured
  scrollTo(0, 0);
  document.activeElement?.blur?.();
  getSelection().removeAllRanges();
  window.lockbenchWalk = {seen: new Set(), expected: stops(), last: null, complaints: []};
  return window.lockbenchWalk.expected.length;
}

// step checks the element with the focus. It returns false at the end of the walk.
function step() {
  const walk = window.lockbenchWalk, e = document.activeElement;
  if (walk.last && looks(walk.last.e) == walk.last.looks) walk.complaints.push("the focus is not visible on " + name(walk.last.e));
  walk.last = null;
  if (!e || e == document.body || e == document.documentElement || walk.seen.has(e)) return false;
  walk.seen.add(e);
  walk.last = {e, looks: looks(e)};
  const box = e.getBoundingClientRect();
  if (box.width < 1 || box.height < 1 || box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) walk.complaints.push("the focus is off the screen on " + name(e));
  const s = getComputedStyle(e);
  if (s.outlineStyle != "none" && s.outlineStyle != "auto") {
    const [low, high] = [luminance(rgba(s.outlineColor)), luminance(ground(e.parentElement))].sort((a, b) => a - b);
    if ((high + .05) / (low + .05) < 3) walk.complaints.push("the focus has a contrast under 3 on " + name(e));
  }
  return true;
}

function arrived() {
  const walk = window.lockbenchWalk;
  return [...walk.complaints, ...walk.expected.filter(e => !walk.seen.has(e)).map(e => "not reachable with the Tab key: " + name(e))];
}
