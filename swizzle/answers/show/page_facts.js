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
