// Checks of the layout and contrast of a page in the browser. Each function returns a list of complaints.

const name = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.getAttribute("class") ? "." + e.getAttribute("class") : "") +
  " " + JSON.stringify(e.textContent.trim().slice(0, 40));

function emptyDrawings() {
  return [...document.querySelectorAll("svg")].filter(s => {
    const box = s.getBoundingClientRect();
    return box.width < 50 || box.height < 20 || s.querySelectorAll("path, rect, line, text").length < 3;
  }).map(s => "an empty drawing: " + name(s));
}

function sideways() {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, pre") && e.getBoundingClientRect().right > root.clientWidth + 1);
  return ["the page is " + root.scrollWidth + " px wide: " + wide.slice(0, 3).map(name).join(", ")];
}

// rgba parses a colour by drawing with it, because a canvas accepts every notation of a colour.
const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
const known = new Map();
function rgba(color) {
  if (!known.has(color)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    known.set(color, [r, g, b, a / 255]);
  }
  return [...known.get(color)];
}

const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);

const grounds = new Map();
function ground(e) {
  if (!e) return [255, 255, 255, 1];
  if (!grounds.has(e)) grounds.set(e, over(rgba(getComputedStyle(e).backgroundColor), ground(e.parentElement)));
  return grounds.get(e);
}

function luminance(c) {
  const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
}

function faint(least, texts = 50) {
  const complaints = new Map();
  let seen = 0;
  for (const e of document.querySelectorAll("body, body *")) {
    if (e.closest("svg") || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
    seen++;
    const style = getComputedStyle(e), under = ground(e), text = over(rgba(style.color), under);
    const [low, high] = [luminance(text), luminance(under)].sort((a, b) => a - b);
    const contrast = (high + .05) / (low + .05);
    if (contrast < least) complaints.set(style.color + under, "a contrast of " + contrast.toFixed(2) + ": " + name(e));
  }
  return seen < texts ? ["only " + seen + " texts were checked"] : [...complaints.values()];
}

// cut finds elements that are cut off at the edge of the paper or in a scrolling box. main selects the table that must be visible.
function cut(main) {
  const width = document.documentElement.clientWidth, complaints = [];
  for (const e of document.querySelectorAll("table, svg, p, pre, h1, h2")) {
    const box = e.getBoundingClientRect();
    if (box.right > width + 1) complaints.push("cut at the edge of the paper by " + Math.round(box.right - width) + " px: " + name(e));
  }
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    if (style.overflowX != "visible" && e.clientWidth && e.scrollWidth > e.clientWidth + 1) complaints.push("cut off by its box: " + name(e));
  }
  const table = document.querySelector(main);
  if (!table || table.getBoundingClientRect().height < 50) complaints.push("the main table is not visible");
  return complaints;
}

function folded() {
  return [...document.querySelectorAll("details:not(.unprinted, .unprinted *)")].filter(d => {
    const last = d.lastElementChild, box = last.getBoundingClientRect();
    return last.tagName != "SUMMARY" && (box.height == 0 || !last.checkVisibility({contentVisibilityAuto: true}));
  }).map(d => "folded on paper: " + name(d));
}

// cutNames finds texts of drawings that are cut off at the edge or overlap each other.
function cutNames() {
  const complaints = [];
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect(), seen = [];
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) complaints.push("cut: " + name(text) + " in " + name(svg));
      for (const other of seen) {
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (wide > 1 && high > box.height / 3) complaints.push(name(text) + " overlaps " + name(other.text) + " in " + svg.getAttribute("aria-labelledby"));
      }
      seen.push({box, text});
    }
  }
  return complaints;
}
