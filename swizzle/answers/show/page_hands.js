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
