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
  document.querySelectorAll(".code").forEach(bringIntoView);
}

/** Scroll a text to its first marked line where none of them is to be seen, unless the pointer is in the text. */
function bringIntoView(text) {
  if (text.matches(":hover")) return;
  const shown = text.getBoundingClientRect();
  const lines = [...text.querySelectorAll("li.here")].map((line) => line.getBoundingClientRect());
  if (lines.length && !lines.some((line) => line.top >= shown.top && line.bottom <= shown.bottom)) {
    text.scrollTop += lines[0].top - shown.top - 40;
  }
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
