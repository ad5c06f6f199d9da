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
    const {array, memory, writes, shape, size, width, cells, summary, clashes} = data.rows[row].access;
    const lines = new Map();
    set(cells).forEach((cell, lane) => {
      if (cell < 0) return;
      const first = Math.floor(Math.floor(cell / width) * width * size / 4);
      for (let word = first; word < first + Math.max(1, width * size / 4); word++) {
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
