// This script refreshes pages, filters the list while typing, and moves the window of a history without a reload. The pages
// work without the script. The script fetches the address of the page with part=live.
"use strict";

const live = document.getElementById("live");

function part(address) {
  const u = new URL(address, location.href);
  u.searchParams.set("part", "live");
  return u;
}

// swap replaces the live part and restores the focus, the choices and the scroll positions.
function swap(html) {
  const at = document.activeElement, inside = live.contains(at) && at != live;
  const id = inside && at.id, href = inside && at.getAttribute("href"), value = inside && "value" in at && at.type != "checkbox" ? at.value : null;
  const picked = [...live.querySelectorAll("input[type=checkbox]:checked")].map(c => c.id);
  const opened = [...live.querySelectorAll("details")].map(d => d.open);
  const scrolled = [...live.querySelectorAll(".scroll")].map(s => s.scrollLeft);
  live.innerHTML = html;
  for (const p of picked) { const c = document.getElementById(p); if (c) c.checked = true; }
  [...live.querySelectorAll("details")].forEach((d, i) => d.open = !!opened[i]);
  [...live.querySelectorAll(".scroll")].forEach((s, i) => s.scrollLeft = scrolled[i] || 0);
  if (!inside) return;
  const again = id ? document.getElementById(id) : [...live.querySelectorAll("a[href]")].find(a => a.getAttribute("href") == href);
  (again || document.getElementById("main")).focus({preventScroll: true});
  if (again && value !== null && again.tagName == "INPUT" && again.type != "search" && !live.hasAttribute("data-history")) again.value = value;
}

// as returns a part in the browser's serialisation.
function as(html) {
  const t = document.createElement("template");
  t.innerHTML = html;
  return t.innerHTML;
}

let latest = 0, shown = live?.innerHTML;

// look fetches the live part of a page. It returns null if another fetch has begun since, and false if the fetch fails.
async function look(address) {
  const mine = ++latest;
  live.classList.add("busy");
  try {
    const answer = await fetch(part(address), {headers: {Accept: "text/html"}});
    const html = await answer.text();
    if (mine != latest) return null;
    if (!answer.ok) { location.assign(address); return null; } // the page at the address shows the error
    const now = as(html);
    if (now != shown) swap(html);
    shown = now;
    return answer;
  } catch {
    return false;
  } finally {
    if (mine == latest) live.classList.remove("busy");
  }
}

// Refresh while the run is under way and the page is visible.
const every = Number(live?.dataset.every);
if (every) {
  const again = async () => {
    if (!document.hidden) {
      const answer = await look(location.href);
      if (answer && !answer.headers.has("X-Running")) { location.reload(); return; } // the run has ended: load the whole page
    }
    setTimeout(again, every);
  };
  setTimeout(again, every);
}

// Filter the list while the user types.
const filter = document.getElementById("filter");
if (filter) {
  let pause;
  filter.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => {
      const u = new URL(location.href);
      filter.value.trim() ? u.searchParams.set("q", filter.value.trim()) : u.searchParams.delete("q");
      history.replaceState(null, "", u);
      look(u.href);
    }, 150);
  });
}

// Move the window of a history.
if (live?.hasAttribute("data-history")) {
  const go = async (address, how) => {
    const u = new URL(address, location.href);
    if (u.href == location.href) return;
    history[how || "pushState"](null, "", u);
    await look(u.href);
  };
  addEventListener("popstate", () => look(location.href));
  live.addEventListener("click", e => {
    const a = e.target.closest("a[data-key], a[data-jump]");
    if (!a || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go(a.getAttribute("href"));
  });
  const submit = form => {
    const u = new URL(location.href);
    u.search = new URLSearchParams([...new FormData(form)].filter(([, v]) => v));
    go(u);
  };
  live.addEventListener("submit", e => { e.preventDefault(); submit(e.target); });
  live.addEventListener("change", e => { if (e.target.tagName == "SELECT") submit(e.target.form); });
  addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
    const key = e.key == "=" ? "+" : e.key == "_" ? "-" : e.key;
    const a = live.querySelector(`a[data-key="${CSS.escape(key)}"]`);
    if (!a) return;
    e.preventDefault();
    go(a.getAttribute("href"), e.repeat ? "replaceState" : "pushState");
  });

  // The axis of the drawing spans the window.
  const axis = () => document.querySelector("#lanes svg path.rule").getBoundingClientRect();
  const times = () => {
    const q = id => Number(document.getElementById(id).defaultValue);
    return {from: q("from"), to: q("to")};
  };
  const timeAt = x => {
    const box = axis(), {from, to} = times();
    return from + Math.min(1, Math.max(0, (x - box.left) / box.width)) * (to - from);
  };
  const show = (from, to, how) => {
    const u = new URL(location.href);
    u.searchParams.set("from", Math.max(0, from).toFixed(6));
    u.searchParams.set("to", Math.max(from + .001, to).toFixed(6));
    return go(u, how);
  };
  let wheel = false;
  live.addEventListener("wheel", async e => {
    if (!e.ctrlKey && !e.metaKey || !e.target.closest("#lanes")) return;
    e.preventDefault();
    if (wheel) return;
    wheel = true;
    const {from, to} = times(), at = timeAt(e.clientX), f = e.deltaY > 0 ? 1.5 : 1 / 1.5;
    await show(at - (at - from) * f, at + (to - at) * f, "replaceState");
    wheel = false;
  }, {passive: false});
  live.addEventListener("pointerdown", e => {
    const lanes = e.target.closest("#lanes");
    if (!lanes || e.button || e.pointerType == "touch") return;
    const start = e.clientX, {from, to} = times();
    const move = m => {
      if (Math.abs(m.clientX - start) > 4) lanes.classList.add("dragged");
      const svg = lanes.querySelector("svg");
      if (lanes.classList.contains("dragged")) svg.style.translate = (m.clientX - start) + "px";
    };
    const up = m => {
      removeEventListener("pointermove", move);
      const was = lanes.classList.contains("dragged");
      lanes.classList.remove("dragged");
      if (!was) return;
      const by = (m.clientX - start) / axis().width * (to - from);
      lanes.querySelector("svg").style.translate = "";
      const width = to - from, at = Math.max(0, from - by);
      show(at, at + width);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up, {once: true});
  });
}
