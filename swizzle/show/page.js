"use strict";
(() => {
const {page, warps} = JSON.parse(document.getElementById("data").textContent);
const byNumber = new Map(warps.map((warp) => [warp.warp, warp]));
let data = {...page, ...warps[0]};
const KINDS = ["reads", "receives", "computes", "stores", "accumulates", "reduces to"];
const LINE = 12, PAD = 3, GAP = 4, ARROWS = 44, WORDS = 32, WORD = 15, ROW = 14, MOST = 32, LISTED = 14;
const byId = (id) => document.getElementById(id);
const set = (number) => data.sets[number];
let titleWidth, cellWidth, panelOf;
const state = {panel: 0, byLane: data.byLane, held: null, focus: [0, 0]};

// ---- the facts: who has a value from whom ----------------------------------------------------------------------

const key = (row, lane) => row + ":" + lane;

/** The warp that a lane is in, counted from lane 0 of the warp that is shown, and its number there. */
function locate(lane) {
  if (lane >= 0 && lane < data.lanes) return [data, lane];
  const thread = data.first + lane, warp = byNumber.get(Math.floor(thread / data.warpSize));
  return warp ? [warp, thread - warp.first] : [null, -1];
}

/** The number of the term that a lane of a row has, in the table of its warp; -1 where it has none. */
function termIn(warp, row, lane) {
  return warp && warp.rows[row] ? warp.sets[warp.rows[row].terms][lane] : -1;
}

/** The row and the lane of each value that one lane of a row is made of. */
function sourcesOf(row, lane) {
  const [warp, own] = locate(lane), found = [];
  if (termIn(warp, row, own) < 0) return found;
  for (const [rows, lanes] of warp.rows[row].sources || []) {
    const from = rows >= 0 ? rows : warp.sets[-1 - rows][own];
    if (from >= 0) found.push([from, (lanes < 0 ? own : warp.sets[lanes][own]) + warp.first - data.first]);
  }
  return found;
}

let users = null;
/** The row and the lane of each value that one lane of a row goes into. */
function usersOf(row, lane) {
  if (!users) {
    users = new Map();
    for (const warp of warps) {
      for (const number of Object.keys(warp.rows).map(Number)) {
        for (let at = warp.first - data.first; at < warp.first - data.first + warp.lanes; at++) {
          for (const [from, giver] of sourcesOf(number, at)) {
            const name = key(from, giver);
            if (!users.has(name)) users.set(name, []);
            users.get(name).push([number, at]);
          }
        }
      }
    }
  }
  return users.get(key(row, lane)) || [];
}

function closure(row, lane, next) {
  const met = new Map(), queue = [[row, lane]];
  while (queue.length) {
    for (const [r, l] of next(...queue.pop())) {
      if (met.has(key(r, l))) continue;
      met.set(key(r, l), [r, l]);
      queue.push([r, l]);
    }
  }
  return met;
}

const homes = new Map();
/** The lane that had a value first: where its way from one single source began. */
function homeOf(row, lane) {
  const path = [];
  let [r, l] = [row, lane];
  while (!homes.has(key(r, l))) {
    path.push(key(r, l));
    const from = sourcesOf(r, l);
    if (from.length !== 1) { homes.set(key(r, l), l); break; }
    [r, l] = from[0];
  }
  const home = homes.get(key(r, l));
  path.forEach((name) => homes.set(name, home));
  return home;
}

// ---- drawing ---------------------------------------------------------------------------------------------------

function element(name, attributes, ...children) {
  const svg = ["svg", "g", "rect", "text", "path", "tspan"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes || {})) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

const labelOf = (term) => data.terms.label[term].split("\n");
const wordsOf = (term) => (term < 0 ? "nothing" : data.terms.full[term]);
const laneName = (lane) => (lane >= 0 && lane < data.lanes ? "lane " + lane
  : "warp " + Math.floor((data.first + lane) / data.warpSize) + ", lane " + (data.first + lane) % data.warpSize);

function tint(made, term, row, lane) {
  if (term < 0) return;
  if (state.byLane) {
    const home = homeOf(row, lane), hue = 20 + 300 * home / data.lanes;
    if (home < 0 || home >= data.lanes) return;
    made.classList.add("toned");
    made.style.setProperty("--hue", hue);
  } else if (data.terms.hue[term] >= 0) {
    made.classList.add("toned");
    if (data.terms.pale[term]) made.classList.add("pale");
    made.style.setProperty("--hue", data.terms.hue[term]);
  }
}

function linesIn(strip) {
  return set(strip.terms).map((term, lane) => {
    if (term < 0) return [];
    return strip.targets ? [...labelOf(term), "\u2192" + strip.targets[lane]] : labelOf(term);
  });
}

function drawPanel() {
  const panel = data.panels[state.panel];
  const width = titleWidth + data.lanes * cellWidth;
  const grid = element("g", {role: "grid", "aria-label": panel.title + ": registers and steps by lane"});
  let y = 16, before = null;
  for (let lane = 0; lane < data.lanes; lane++) {
    grid.append(element("text", {class: "head", x: titleWidth + (lane + 0.5) * cellWidth, y: 9, "aria-hidden": "true"}, String(lane)));
  }
  panel.strips.forEach((strip, at) => {
    if (before) y += strip.asked !== undefined ? ARROWS : strip.row < 0 && !strip.starts ? 0 : GAP;
    if (strip.asked !== undefined && before) drawArrows(grid, strip, before, y);
    const texts = linesIn(strip);
    const height = Math.max(1, ...texts.map((lines) => lines.length)) * LINE + 2 * PAD;
    grid.append(drawStrip(strip, at, texts, y, height));
    y += height;
    before = strip;
  });
  const svg = element("svg", {viewBox: `0 0 ${width} ${y + 4}`}, grid);
  svg.style.maxWidth = Math.round(width * 1.35) + "px";
  svg.style.minWidth = Math.round(width * 0.62) + "px";
  byId("figure").replaceChildren(svg);
}

function drawStrip(strip, at, texts, y, height) {
  const quiet = strip.row < 0 || strip.again ? " quiet" : "";
  const line = element("g", {role: "row", "data-line": strip.row < 0 ? 0 : data.rows[strip.row].line});
  line.append(element("text", {class: "title" + quiet, role: "rowheader", x: 0, y: y + height / 2 + 3.5},
    (strip.again ? "\u21ba " : "") + strip.title));
  const marked = new Set(strip.read === undefined ? [] : set(strip.read));
  const wrong = new Set(strip.wrong === undefined ? [] : set(strip.wrong));
  texts.forEach((lines, lane) => {
    const term = set(strip.terms)[lane];
    const row = strip.row < 0 ? set(strip.writers)[lane] : strip.row;
    const x = titleWidth + lane * cellWidth;
    const cell = element("g", {class: "cell", role: "gridcell", tabindex: -1, "aria-label":
      `${laneName(lane)}, ${strip.title}: ${wordsOf(term)}` + (strip.targets && lines.length ? `, to place ${strip.targets[lane]}` : "")
      + (wrong.has(lane) ? ", not what the specification says" : "")});
    cell.dataset.at = at;
    cell.dataset.lane = lane;
    cell.dataset.row = row;
    cell.append(element("rect", {x: x + 0.8, y: y + 0.8, width: cellWidth - 1.6, height: height - 1.6, rx: 2}));
    const top = y + height / 2 - (lines.length - 1) * LINE / 2 + 3.5;
    lines.forEach((text, n) => cell.append(element("text", {x: x + cellWidth / 2, y: top + n * LINE}, text)));
    if (!lines.length) cell.classList.add("empty");
    if (marked.has(lane)) cell.classList.add("marked");
    if (wrong.has(lane)) cell.classList.add("wrong");
    if (row >= 0) tint(cell, term, row, lane);
    line.append(cell);
  });
  return line;
}

function drawArrows(grid, strip, before, y) {
  set(strip.asked).forEach((giver, lane) => {
    if (giver < 0 || giver >= data.lanes) return;
    for (const part of arrow(titleWidth + (giver + 0.5) * cellWidth, titleWidth + (lane + 0.5) * cellWidth, y - ARROWS + 1, y - 1)) {
      part.dataset.name = key(strip.row, lane);
      tint(part, set(before.terms)[giver], before.row, giver);
      if (!part.style.getPropertyValue("--hue")) part.classList.add("plain");
      grid.append(part);
    }
  });
}

function arrow(a, b, top, bottom) {
  const bend = (bottom - top) * 0.45, curve = `M${a} ${top}C${a} ${top + bend} ${b} ${bottom - bend} ${b} ${bottom - 4}`;
  return [element("path", {class: "arrow", d: curve}), element("path", {class: "tip", d: `M${b - 3} ${bottom - 5}l3 5l3 -5z`})];
}

function drawMemory() {
  byId("memory").replaceChildren(...data.panels[state.panel].accesses.map((row) => {
    const {array, memory, writes, shape, size, cells, summary, clashes} = data.rows[row].access;
    const lines = new Map();
    set(cells).forEach((cell, lane) => {
      if (cell < 0) return;
      const first = Math.floor(cell * size / 4);
      for (let word = first; word < first + Math.max(1, size / 4); word++) {
        const line = Math.floor(word / WORDS);
        if (!lines.has(line)) lines.set(line, new Map());
        const at = lines.get(line);
        at.set(word % WORDS, [...(at.get(word % WORDS) || []), lane]);
      }
    });
    const sorted = [...lines.entries()].sort((a, b) => a[0] - b[0]), shown = sorted.slice(0, MOST);
    const svg = element("svg", {viewBox: `0 0 ${82 + WORDS * WORD} ${shown.length * ROW + (sorted.length > MOST ? 14 : 1)}`,
      role: "img", "aria-label": summary});
    shown.forEach(([line, words], n) => {
      const first = Math.floor(line * WORDS * 4 / size);
      svg.append(element("text", {class: "place", x: 0, y: n * ROW + 10}, `${array}[${unravel(first, shape)}]`));
      for (let word = 0; word < WORDS; word++) {
        const lanes = words.get(word) || [];
        const made = element("g", {class: "word"},
          element("rect", {x: 80.5 + word * WORD, y: n * ROW + 0.5, width: WORD - 1, height: ROW - 1}));
        if (lanes.length) {
          made.classList.add("toned");
          made.style.setProperty("--hue", 20 + 300 * lanes[0] / data.lanes);
          made.dataset.names = lanes.map((lane) => key(row, lane)).join(" ");
          made.append(element("text", {x: 80 + (word + 0.5) * WORD, y: n * ROW + 10}, lanes.length === 1 ? String(lanes[0]) : lanes.length + "\u00d7"));
          if (clashes.includes(word)) made.classList.add("clash");
        }
        svg.append(made);
      }
      if (memory === "global") {
        for (let sector = 0; sector <= WORDS; sector += 8) {
          svg.append(element("path", {class: "sector", d: `M${80 + sector * WORD} ${n * ROW}v${ROW}`}));
        }
      }
    });
    if (sorted.length > MOST) svg.append(element("text", {class: "place", x: 80, y: MOST * ROW + 10}, `\u2026 ${sorted.length - MOST} more lines`));
    const legend = memory === "global" ? "a row is a line of 128 bytes, in four sectors; the number is the lane"
      : "a column is a bank; the number is the lane";
    return element("div", {class: "access"},
      element("p", {class: clashes.length ? "conflict" : ""}, `${writes ? "stores to" : "loads from"} ${array} (${memory}): `, element("b", {}, summary),
        element("br"), element("span", {}, `${data.rows[row].title} \u00b7 ${legend}`)), svg);
  }));
}

function unravel(index, shape) {
  const found = [];
  for (const extent of [...shape].reverse()) { found.unshift(index % extent); index = Math.floor(index / extent); }
  return found.join(", ");
}

function drawHoles() {
  byId("holes-box").hidden = !data.holes.length;
  if (!data.holes.length) byId("holes-box").parentElement.style.gridTemplateColumns = "minmax(0, 1fr) minmax(0, 1fr)";
  byId("holes").replaceChildren(...data.holes.map((hole) => {
    const longest = Math.max("element".length, hole.argument.length, ...hole.rows.map(([name]) => name.length));
    const left = longest * 6.3 + 10, side = 18, across = Math.max(1, hole.columns.length);
    const drawn = hole.drawn !== null && hole.size <= 64;
    const table = 16 + hole.rows.length * side + (hole.more ? 14 : 0), height = table + (drawn ? ARROWS + 2 * side + 12 : 0);
    const width = Math.max(left + Math.max(across, drawn ? hole.size : 0) * side, 330);
    const svg = element("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${hole.name}: ${hole.words}`});
    svg.style.maxWidth = Math.round(width * 1.1) + "px";
    const values = (list, y) => list.forEach((value, at) => {
      const cell = element("g", {class: "cell"}, element("rect", {x: left + at * side + 0.5, y, width: side - 1, height: side - 1, rx: 2}));
      if (value === null || value === undefined) cell.classList.add("empty");
      else {
        cell.classList.add("toned");
        cell.style.setProperty("--hue", 20 + 300 * value / hole.size);
        cell.append(element("text", {x: left + (at + 0.5) * side, y: y + 12}, String(value)));
      }
      svg.append(cell);
    });
    svg.append(element("text", {class: "place", x: 0, y: 10}, hole.argument));
    hole.columns.forEach((column, at) => svg.append(element("text", {class: "head", x: left + (at + 0.5) * side, y: 10}, String(column))));
    hole.rows.forEach(([name, given], n) => {
      svg.append(element("text", {class: "place", x: 0, y: 28 + n * side}, name));
      values(given, 16 + n * side);
    });
    if (hole.more) svg.append(element("text", {class: "place", x: left, y: 26 + hole.rows.length * side}, `\u2026 ${hole.more} more rows`));
    if (drawn) {
      const [name, given] = hole.rows[hole.drawn], top = table + 6, bottom = top + side + ARROWS, places = Array(hole.size).fill(null);
      svg.append(element("text", {class: "place", x: 0, y: top + 12}, "element"), element("text", {class: "place", x: 0, y: bottom + 12}, name || hole.argument));
      values(places.map((_, at) => at), top);
      hole.columns.forEach((place, at) => {
        const value = given[at];
        places[place] = value;
        if (value === null) return;
        const made = arrow(left + (value + 0.5) * side, left + (place + 0.5) * side, top + side, bottom);
        made.forEach((part) => part.style.setProperty("--hue", 20 + 300 * value / hole.size));
        svg.append(...made);
      });
      values(places, bottom);
    }
    return element("div", {class: "hole", "data-line": hole.line},
      element("p", {}, element("b", {}, hole.name), ": " + hole.words),
      element("p", {class: "mono"}, `${hole.name} = ${hole.formula}`), svg);
  }));
}

function drawCode(list, lines, numberOf, lineOf) {
  const known = new Set(Object.values(data.rows).map((row) => row.line));
  list.replaceChildren(...lines.map((text, at) => {
    const line = element("li", {"data-number": numberOf(at), "data-line": lineOf(at), tabindex: at ? -1 : 0}, text || " ");
    if (known.has(lineOf(at))) line.classList.add("linked");
    return line;
  }));
}

// ---- looking at one thing --------------------------------------------------------------------------------------

function show(panel) {
  state.panel = Math.max(0, Math.min(data.panels.length - 1, panel));
  state.held = null;
  const now = data.panels[state.panel], last = data.panels.length - 1;
  byId("step").textContent = now ? now.title : "Nothing moves";
  byId("count").textContent = now ? `step ${state.panel + 1} of ${last + 1}` + (data.leftOut ? `, ${data.leftOut} left out before the last ones` : "") : "";
  byId("slider").value = state.panel;
  byId("slider").setAttribute("aria-valuetext", now ? now.title : "");
  byId("previous").disabled = state.panel <= 0;
  byId("next").disabled = state.panel >= last;
  if (!now) return;
  drawPanel();
  drawMemory();
  const at = Math.min(state.focus[0], now.strips.length - 1);
  state.focus = [at, state.focus[1]];
  const cell = cellAt(...state.focus);
  if (cell) cell.setAttribute("tabindex", 0);
  look(null);
}

const cellAt = (at, lane) => document.querySelector(`#figure .cell[data-at="${at}"][data-lane="${lane}"]`);

/** Show what one cell holds, where it comes from and where it goes; null lets go of it. */
function look(cell) {
  const figure = byId("figure"), panel = data.panels[state.panel];
  document.querySelectorAll(".lit, .here").forEach((some) => some.classList.remove("lit", "here"));
  figure.classList.toggle("looking", !!cell);
  const lines = new Set(panel.rows.map((row) => data.rows[row].line));
  if (!cell) {
    markLines(lines, new Set(), new Set());
    byId("inspector").replaceChildren(element("p", {}, "Point at a cell, or move to one with the keyboard, to follow its value from where it was loaded to where it ends."));
    return;
  }
  const row = Number(cell.dataset.row), lane = Number(cell.dataset.lane), strip = panel.strips[cell.dataset.at];
  const up = row < 0 ? new Map() : closure(row, lane, sourcesOf), down = row < 0 ? new Map() : closure(row, lane, usersOf);
  const lit = new Set([...up.keys(), ...down.keys(), key(row, lane)]);
  figure.querySelectorAll(".cell").forEach((some) => some.classList.toggle("lit", lit.has(key(some.dataset.row, some.dataset.lane))));
  figure.querySelectorAll(".arrow, .tip").forEach((some) => some.classList.toggle("lit", lit.has(some.dataset.name)));
  document.querySelectorAll(".word[data-names]").forEach((word) => word.classList.toggle("lit", word.dataset.names.split(" ").some((name) => lit.has(name))));
  cell.classList.add("lit", "here");
  const passed = new Set([...up.values(), ...down.values()].map(([r]) => (data.rows[r] || {}).line));
  if (row >= 0 && data.rows[row]) passed.add(data.rows[row].line);
  markLines(lines, passed, new Set(row >= 0 && data.rows[row] ? data.rows[row].holes || [] : []));
  inspect(strip, row, lane, up, down);
}

function markLines(here, now, holes) {
  document.querySelectorAll(".code li").forEach((line) => {
    const number = Number(line.dataset.line);
    line.classList.toggle("here", here.has(number));
    line.classList.toggle("now", now.has(number));
  });
  document.querySelectorAll(".hole").forEach((hole, at) => hole.classList.toggle("now", holes.has(at)));
}

function inspect(strip, row, lane, up, down) {
  const term = set(strip.terms)[lane];
  const parts = [element("p", {}, element("b", {}, laneName(lane)), " \u00b7 ", strip.row < 0 ? "register" : KINDS[data.rows[row].kind]),
    element("p", {class: "mono"}, strip.title), element("p", {class: "value"}, wordsOf(term))];
  if (strip.wrong !== undefined && set(strip.wrong).includes(lane)) parts.push(element("p", {}, element("b", {}, "Not what the specification says.")));
  const access = row >= 0 && data.rows[row] && data.rows[row].access;
  if (access && set(access.cells)[lane] >= 0) {
    parts.push(element("p", {}, `${access.writes ? "to" : "at"} ${access.array}[${unravel(set(access.cells)[lane], access.shape)}]`));
  }
  const list = (title, map, order) => {
    const found = [...map.values()].sort((a, b) => order * (a[0] - b[0]) || a[1] - b[1]);
    if (!found.length) return;
    parts.push(element("h4", {}, title), element("ul", {}, ...found.slice(0, LISTED).map(([r, l]) => element("li", {}, jump(r, l)))));
    if (found.length > LISTED) parts.push(element("p", {}, `\u2026 and ${found.length - LISTED} more`));
  };
  list("Comes from", up, -1);
  list("Goes to", down, 1);
  if (row >= 0 && !up.size && !down.size) parts.push(element("p", {}, "Made here, and used nowhere."));
  byId("inspector").replaceChildren(...parts);
}

function jump(row, lane) {
  const [warp, own] = locate(lane), button = element("button", {type: "button"});
  const known = (warp || data).rows[row];
  if (!known) { button.append("a step that is left out"); button.disabled = true; return button; }
  const at = panelOf.get(row), here = warp === data && at === state.panel, term = termIn(warp, row, own);
  button.append(element("b", {}, laneName(lane)), ` ${known.title}`);
  const said = [term < 0 ? "" : warp.terms.full[term].slice(0, 40), here || at === undefined ? "" : data.panels[at].title];
  button.append(element("span", {}, said.filter((text) => text).map((text) => ` \u00b7 ${text}`).join("")));
  button.disabled = !warp;
  button.addEventListener("click", () => {
    if (warp !== data) enter(warp);
    show(panelOf.get(row));
    const cell = document.querySelector(`#figure .cell[data-row="${row}"][data-lane="${own}"]`);
    if (cell) focusOn(cell);
  });
  return button;
}

/** Go over to another warp, at the step of the same name where it has one. */
function enter(warp) {
  const before = data.panels[state.panel];
  data = Object.assign(warp, page);
  users = null;
  homes.clear();
  ({title: titleWidth, cell: cellWidth} = data.look);
  panelOf = new Map();
  data.panels.forEach((panel, at) => panel.rows.forEach((row) => panelOf.set(row, at)));
  byId("where").textContent = `${data.where} \u00b7 ${data.lanes} lanes`;
  byId("slider").max = Math.max(0, data.panels.length - 1);
  byId("warp").value = data.warp;
  state.focus = [0, Math.min(state.focus[1], data.lanes - 1)];
  const same = before ? data.panels.findIndex((panel) => panel.title === before.title) : -1;
  show(Math.max(0, same));
}

function focusOn(cell) {
  document.querySelectorAll('#figure .cell[tabindex="0"]').forEach((old) => old.setAttribute("tabindex", -1));
  cell.setAttribute("tabindex", 0);
  state.focus = [Number(cell.dataset.at), Number(cell.dataset.lane)];
  cell.focus({preventScroll: true});
  cell.scrollIntoView({block: "nearest", inline: "nearest"});
}

// ---- hands -----------------------------------------------------------------------------------------------------

const figure = byId("figure");
figure.addEventListener("pointerover", (event) => {
  const cell = event.target.closest(".cell");
  if (cell && !state.held) look(cell);
});
document.querySelector(".stage").addEventListener("pointerleave", () => { if (!state.held) look(document.activeElement.closest("#figure .cell")); });
figure.addEventListener("click", (event) => {
  const cell = event.target.closest(".cell");
  state.held = cell && cell !== state.held ? cell : null;
  if (cell) focusOn(cell);
  look(cell);
});
figure.addEventListener("focusin", (event) => { if (!state.held) look(event.target.closest(".cell")); });
figure.addEventListener("focusout", (event) => { if (!state.held && !figure.contains(event.relatedTarget)) look(null); });
figure.addEventListener("keydown", (event) => {
  const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
  let [at, lane] = state.focus;
  if (moves[event.key]) { at += moves[event.key][0]; lane += moves[event.key][1]; }
  else if (event.key === "Home") lane = 0;
  else if (event.key === "End") lane = data.lanes - 1;
  else if (event.key === "Enter" || event.key === " ") { state.held = state.held ? null : document.activeElement; event.preventDefault(); return; }
  else if (event.key === "Escape") { state.held = null; document.activeElement.blur(); look(null); return; }
  else if (event.key === "n" || event.key === "p") { show(state.panel + (event.key === "n" ? 1 : -1)); const cell = cellAt(...state.focus); if (cell) focusOn(cell); event.preventDefault(); return; }
  else return;
  event.preventDefault();
  event.stopPropagation();
  const cell = cellAt(at, lane);
  if (cell) { state.held = null; focusOn(cell); }
});
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("#figure .cell, .code, input, select")) return;
  const step = {ArrowRight: 1, ArrowLeft: -1, n: 1, p: -1}[event.key];
  if (step) { show(state.panel + step); event.preventDefault(); }
});
byId("previous").addEventListener("click", () => show(state.panel - 1));
byId("next").addEventListener("click", () => show(state.panel + 1));
byId("slider").addEventListener("input", () => show(Number(byId("slider").value)));

const THEMES = ["auto", "light", "dark"], preference = matchMedia("(prefers-color-scheme: dark)");
let theme = 0;
function paint() {
  const dark = THEMES[theme] === "auto" ? preference.matches : THEMES[theme] === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = "Theme: " + THEMES[theme];
}
byId("theme").addEventListener("click", () => { theme = (theme + 1) % 3; paint(); });
preference.addEventListener("change", paint);
function nameColour() {
  byId("colour").textContent = "Colour: " + (state.byLane ? "first lane" : "element");
  byId("colour").setAttribute("aria-pressed", String(state.byLane));
}
byId("colour").addEventListener("click", () => {
  state.byLane = !state.byLane;
  nameColour();
  show(state.panel);
});
for (const list of document.querySelectorAll(".code")) {
  list.addEventListener("pointerover", (event) => hoverLine(event.target.closest("li")));
  list.addEventListener("pointerleave", () => look(state.held));
  list.addEventListener("focusin", (event) => hoverLine(event.target.closest("li")));
  list.addEventListener("focusout", () => look(state.held));
  list.addEventListener("click", (event) => goToLine(event.target.closest("li")));
  list.addEventListener("keydown", (event) => {
    const line = event.target.closest("li"), move = {ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling"}[event.key];
    if (event.key === "Enter") goToLine(line);
    if (!move || !line[move]) return;
    event.preventDefault();
    line.setAttribute("tabindex", -1);
    line[move].setAttribute("tabindex", 0);
    line[move].focus();
  });
}

function hoverLine(line) {
  if (!line) return;
  const number = Number(line.dataset.line), panel = data.panels[state.panel];
  if (!panel || !number) return;
  markLines(new Set(panel.rows.map((row) => data.rows[row].line)), new Set([number]),
    new Set(data.holes.map((hole, at) => (hole.line === number ? at : -1))));
  figure.classList.toggle("looking", panel.rows.some((row) => data.rows[row].line === number));
  figure.querySelectorAll(".cell").forEach((cell) => cell.classList.toggle("lit", Number(cell.parentNode.dataset.line) === number
    || (data.rows[cell.dataset.row] || {}).line === number));
}

function goToLine(line) {
  if (!line) return;
  const number = Number(line.dataset.line);
  const has = (panel) => panel.rows.some((row) => data.rows[row].line === number);
  const later = data.panels.findIndex((panel, at) => at > state.panel && has(panel));
  const found = has(data.panels[state.panel]) && later < 0 ? data.panels.findIndex(has) : later >= 0 ? later : data.panels.findIndex(has);
  if (found >= 0) { show(found); hoverLine(line); }
}

byId("title").textContent = data.title;
byId("warp").append(...[...byNumber.keys()].sort((a, b) => a - b).map((number) => element("option", {value: number}, String(number))));
byId("warps").hidden = warps.length < 2;
byId("warp").addEventListener("change", () => enter(byNumber.get(Number(byId("warp").value))));
drawCode(byId("sketch"), data.sketch.lines, (at) => data.sketch.first + at, (at) => data.sketch.first + at);
drawCode(byId("cuda"), data.cuda.lines, (at) => at + 1, (at) => data.cuda.origins[at]);
drawHoles();
paint();
nameColour();
enter(warps[0]);
})();
