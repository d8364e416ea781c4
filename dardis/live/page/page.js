"use strict";
// The page: keeps what the server sends, and shows the view that the address names.

const PER_PAGE = 50;
const UNFINISHED = ["held", "waiting", "running"];
const STATES = ["all", "unfinished", "held", "waiting", "running", "completed", "failed", "timeout", "cancelled",
  "unknown", "rejected", "killed"];
const LOOKED_UP_MS = 2000; // how often an open job is read again
const RETRY_MS = 1000;

const $ = (id) => document.getElementById(id);
const app = {
  hello: null, jobs: new Map(), coming: null, samples: [], nodes: [], use: {}, plan: { cap: [], nodes_on: [] },
  at: {}, isReady: false, lastMs: 0, offsetMs: 0,
};
const charts = {};
let range = "auto", sortBy = "id", isDown = true, shownPage = 0, isDrawing = false, source = null;

// ---------------------------------------------------------------------------------------------------------------------
// Elements. All text is set as text.

function make(tag, text, attributes = {}) {
  const one = document.createElement(tag);
  if (text !== undefined && text !== null) one.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") one.className = value;
    else if (name.startsWith("on")) one.addEventListener(name.slice(2), value);
    else one.setAttribute(name, value);
  }
  return one;
}

function link(text, hash) {
  return make("a", text, { href: hash });
}

/** Set the attributes and the text of an element, or the element in it, where they differ. */
function patch(place, content, className) {
  if (place.className !== className) place.className = className;
  if (!(content instanceof Node)) {
    const text = String(content ?? "");
    if (place.childElementCount || place.textContent !== text) place.textContent = text;
    return;
  }
  const old = place.firstChild;
  if (old && place.childNodes.length === 1 && old.isEqualNode(content)) return;
  if (old instanceof HTMLAnchorElement && content instanceof HTMLAnchorElement && place.childNodes.length === 1) {
    old.setAttribute("href", content.getAttribute("href")); // keeps the focus
    if (old.textContent !== content.textContent) old.textContent = content.textContent;
    return;
  }
  place.replaceChildren(content);
}

/** Fill a table. What has not changed stays, with its focus and selection. */
function fillTable(table, head, rows) {
  const key = JSON.stringify([head, table.id === "jobs-table" && sortBy]);
  if (table.dataset.key !== key) {
    const focused = table.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    table.dataset.key = key;
    const top = make("tr");
    for (const cell of head) {
      const th = make("th", cell.sort ? null : cell.text, { scope: "col", class: cell.class || "" });
      if (cell.sort) {
        const by = sortBy.replace("-", "");
        const button = make("button", cell.text + (by === cell.sort ? (sortBy[0] === "-" ? " ▼" : " ▲") : ""),
          { type: "button", onclick: () => setSort(cell.sort) });
        button.dataset.key = cell.sort;
        if (by === cell.sort) th.setAttribute("aria-sort", sortBy[0] === "-" ? "descending" : "ascending");
        th.append(button);
      }
      top.append(th);
    }
    const thead = make("thead");
    thead.append(top);
    table.replaceChildren(thead, make("tbody"));
    if (focused) table.querySelector(`[data-key="${focused}"]`)?.focus();
  }
  const body = table.tBodies[0], shown = rows.length ? rows : [["none"]];
  while (body.rows.length > shown.length) body.lastChild.remove();
  shown.forEach((row, at) => {
    const tr = body.rows[at] || body.appendChild(make("tr"));
    while (tr.cells.length > row.length) tr.lastChild.remove();
    row.forEach((cell, column) => patch(tr.cells[column] || tr.appendChild(make("td")), cell, head[column].class || ""));
  });
}

function fillFacts(list, facts) {
  const shown = facts.filter(([, one]) => one !== null && one !== undefined && one !== "");
  const names = JSON.stringify(shown.map(([name]) => name));
  if (list.dataset.key !== names) {
    list.dataset.key = names;
    list.replaceChildren(...shown.flatMap(([name]) => [make("dt", name), make("dd")]));
  }
  shown.forEach(([, one], at) => patch(list.children[2 * at + 1], one, ""));
}

// ---------------------------------------------------------------------------------------------------------------------
// Words.

function moment(ms) {
  if (ms === null || ms === undefined) return "";
  const utc = app.hello?.kind === "run";
  if (utc && !app.hello.is_dated) return span(ms);
  const zone = utc ? { timeZone: "UTC" } : {};
  const date = new Date(ms), today = new Date(nowMs());
  const time = date.toLocaleTimeString("en-GB", zone);
  const isToday = !utc && date.toDateString() === today.toDateString();
  return isToday ? time : `${date.toLocaleDateString("sv-SE", zone)} ${time}`;
}

function span(ms) {
  if (ms === null || ms === undefined) return "";
  const s = Math.max(Math.floor(ms / 1000), 0);
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(s / DAY_S);
  return `${days ? `${days}-` : ""}${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

function many(count, name) {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

function watts(value) {
  if (value === null || value === undefined) return "";
  return Math.abs(value) >= 1e4 ? `${(value / 1000).toFixed(2)} kW` : `${+value.toPrecision(5)} W`;
}

/** Text without control characters, so that nothing moves or hides it. Colours of a terminal are left out. */
function plain(text) {
  const bare = text.replace(/\u001b\[[0-9;]*m/g, "").replace(/\r\n/g, "\n");
  return bare.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

function nowMs() {
  return app.hello?.kind === "run" ? app.lastMs : Date.now() + app.offsetMs;
}

// ---------------------------------------------------------------------------------------------------------------------
// What the server sends.

function connect() {
  source?.close(); // a page has one stream, or samples would come twice
  source = new EventSource("/events");
  const on = (name, handle) => source.addEventListener(name, (one) => {
    handle(JSON.parse(one.data));
    draw();
  });
  on("hello", onHello);
  on("jobs", (told) => told.jobs.forEach((row) => putJob(app.coming, row)));
  on("ready", () => {
    app.jobs = app.coming;
    app.isReady = true;
    lookUp();
  });
  on("change", onChange);
  source.onerror = onLost;
}

function onHello(told) {
  app.hello = told;
  app.at = Object.fromEntries(told.columns.map((name, place) => [name, place]));
  app.coming = new Map();
  if (!app.isReady) app.jobs = app.coming;
  app.samples = told.samples;
  app.nodes = told.node_states;
  app.lastMs = told.now_ms;
  app.offsetMs = told.now_ms - Date.now();
  app.plan = told.plan;
  app.use = told;
  $("title").textContent = told.title;
  document.title = `DARDIS ${told.title}`;
  const isLive = told.kind === "live";
  $("cap-form").hidden = !(isLive && told.operator);
  $("job-output-part").hidden = $("node-next-head").hidden = $("node-next").hidden = !isLive;
  setDown(false);
}

function onChange(told) {
  for (const row of told.jobs) putJob(app.jobs, row);
  for (const id of told.gone) app.jobs.delete(id);
  for (const [place, ...node] of told.node_states) app.nodes[place] = node;
  app.samples.push(...told.samples);
  const first = app.samples.findIndex((one) => one[0] >= told.now_ms / 1000 - DAY_S);
  if (first > 1000) app.samples.splice(0, first);
  app.lastMs = told.now_ms;
  app.offsetMs = told.now_ms - Date.now();
  app.plan = told.plan;
  app.use = { ...app.use, ...told };
  setDown(false);
}

function putJob(jobs, row) {
  row.search = `${row[app.at.id]} ${row[app.at.name]} ${row[app.at.user]} ${row[app.at.on].join(" ")}`.toLowerCase();
  jobs.set(row[app.at.id], row);
}

async function onLost() {
  source.close();
  setDown(true);
  try {
    const answer = await fetch("/ping");
    if (answer.status === 401) {
      $("status").textContent = "Your session has ended. A new link opens the page again.";
      return;
    }
  } catch { /* the service does not answer */ }
  setTimeout(() => document.hidden || connect(), RETRY_MS);
}

/** A page that nobody sees takes no connection; browsers have six for each host. */
function onVisibility() {
  if (document.hidden) {
    source?.close();
  } else if (!source || source.readyState === EventSource.CLOSED) {
    connect();
  }
}

function setDown(down) {
  if (down) {
    $("status").textContent = isDown && app.hello ? $("status").textContent
      : `The service does not answer since ${moment(Date.now())}. Trying again.`;
  } else if (app.use.trouble) {
    $("status").textContent = `The service waits: ${app.use.trouble}`;
  } else if (Object.keys(app.use.unreachable || {}).length) {
    $("status").textContent = `Unreachable: ${Object.keys(app.use.unreachable).join(", ")}`;
  } else {
    const times = app.hello.is_dated ? "times are UTC" : "times since the begin of the trace";
    $("status").textContent = app.hello.kind === "run" ? `Finished run; ${times}` : "Live";
  }
  isDown = down;
  $("status").className = down || app.use.trouble ? "bad" : "";
}

/** Send a request; show why, if it is refused. */
async function post(path, body) {
  $("alert").hidden = true;
  try {
    const answer = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body || {}),
    });
    if (answer.ok) return true;
    const told = await answer.json().catch(() => ({}));
    complain(told.error || `The service refuses (${answer.status}).`);
  } catch {
    complain("The service does not answer.");
  }
  return false;
}

function complain(line) {
  $("alert").textContent = line;
  $("alert").hidden = false;
}

async function get(path) {
  const answer = await fetch(path);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error || `status ${answer.status}`);
  return told;
}

function confirmed(text) {
  $("confirm-text").textContent = text;
  $("confirm").showModal();
  $("confirm-no").focus();
  return new Promise((done) => { // not at "close": this event comes later, when the next question may already be open
    $("confirm-form").onsubmit = (event) => done(event.submitter === $("confirm-yes"));
    $("confirm").oncancel = () => done(false);
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Views.

const views = { overview: drawOverview, jobs: drawJobs, job: drawJob, nodes: drawNodes, node: drawNode, energy: drawEnergy };

function place() {
  const [path, query] = (location.hash.startsWith("#/") ? location.hash.slice(2) : "").split("?");
  const [view, ...rest] = path.split("/");
  let name = rest.join("/");
  try {
    name = decodeURIComponent(name);
  } catch { /* remains as it is */ }
  const which = { jobs: name ? "job" : "jobs", nodes: name ? "node" : "nodes", energy: "energy" }[view] || "overview";
  return { view: which, name, query: new URLSearchParams(query || "") };
}

/** Draw the view soon; many changes become one drawing. */
function draw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    if (!app.hello) return;
    const { view } = place();
    for (const name of Object.keys(views)) $(name).hidden = name !== view;
    views[view]();
  });
}

function onMove() {
  const { view } = place();
  $("alert").hidden = true;
  for (const one of document.querySelectorAll("nav a")) {
    const its = one.getAttribute("href").slice(2) || "overview";
    if (its.startsWith(view)) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  if (view === "jobs") {
    const { query } = place();
    $("search").value = query.get("q") || "";
    $("state").value = STATES.includes(query.get("state")) ? query.get("state") : "all";
    sortBy = query.get("sort") || "-id";
    shownPage = Number(query.get("page") || 0);
  }
  draw();
  lookUp();
}

/** The address of the present filter, so that it can be kept and shared. */
function keepFilter() {
  const query = new URLSearchParams();
  if ($("search").value) query.set("q", $("search").value);
  if ($("state").value !== "all") query.set("state", $("state").value);
  if (sortBy !== "-id") query.set("sort", sortBy);
  if (shownPage) query.set("page", shownPage);
  const text = query.toString();
  history.replaceState(null, "", `#/jobs${text ? `?${text}` : ""}`);
  draw();
}

function setSort(by) {
  sortBy = sortBy === by ? `-${by}` : by;
  shownPage = 0;
  keepFilter();
}

function value(row, name) {
  return row[app.at[name]];
}

/** Boxes of figures: name, text, small text, and whether it is bad. */
function fillFigures(list, figures) {
  const key = JSON.stringify(figures);
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(...figures.map(([name, text, small, isBad]) => {
    const box = make("div"), dd = make("dd", text, { class: isBad ? "bad-text" : "" });
    if (small) dd.append(make("small", small));
    box.append(make("dt", name), dd);
    return box;
  }));
}

function drawOverview() {
  const { hello, use, samples, plan } = app;
  const last = samples[samples.length - 1] || [0, null, 0, null, null, 0, 0];
  const total = hello.cores.reduce((sum, one) => sum + one, 0);
  const isLive = hello.kind === "live";
  const figures = isLive ? [] : [...hello.figures];
  if (isLive) {
    const kind = use.cap ? `${use.cap.hard ? "hard" : "soft"} cap ` : "";
    if (hello.power) {
      const over = last[3] !== null && last[1] > last[3];
      figures.push(["Power", watts(last[1]), last[3] === null ? "no cap on power" : `${kind}${watts(last[3])}`, over]);
      if (use.measured_w !== null) figures.push(["Measured", watts(use.measured_w)]);
    }
    const over = last[4] !== null && last[2] > last[4];
    figures.push(["Cores in use", `${last[2]} of ${total}`, last[4] === null ? "" : `${kind}${last[4]} cores`, over]);
    figures.push(["Running", many(use.running, "job")], ["Waiting", many(use.waiting, "job")]);
    figures.push(["Nodes on", `${last[5]} of ${hello.nodes.length}`]);
  }
  fillFigures($("figures"), figures);
  const now = nowMs() / 1000, first = samples.length ? samples[0][0] : now;
  const planEnd = Math.max(now, ...plan.cap.slice(-1).map((step) => step[0]),
    ...plan.nodes_on.slice(-1).map((step) => step[0]));
  const spans = {
    "10 min": [now - 600, now], "1 h": [now - 3600, now], "24 h": [now - DAY_S, now],
    "24 h and the plan": [now - DAY_S, now + DAY_S],
  };
  const auto = planEnd > now ? [Math.max(first, now - DAY_S), Math.min(planEnd + 600, now + DAY_S)]
    : [Math.min(Math.max(first, now - DAY_S), now - 120), now];
  const shown = isLive ? spans[range] || auto : [first, now];
  drawRanges(isLive ? ["auto", ...Object.keys(spans)] : []);
  const steps = plan.cap, isPower = use.cap?.kind === "power";
  $("power-head").hidden = $("power-chart").hidden = !hello.power;
  if (hello.power) {
    charts.power ??= new TimeChart($("power-chart"), "W", [
      { label: "in use, W", colour: "use", filled: true }, { label: "cap, W", colour: "cap" }], clock());
    charts.power.show(chartData(samples, 1, 3, isPower ? steps : [], now, shown[1], null, isLive), shown);
    $("power-chart").setAttribute("aria-label", `Power over time: ${watts(last[1])} now` +
      (last[3] === null ? "" : `, cap ${watts(last[3])}`));
  }
  charts.cores ??= new TimeChart($("cores-chart"), "cores", [
    { label: "in use", colour: "use", filled: true }, { label: "cap", colour: "cap" },
    { label: "all", colour: "total", dashed: true }], clock());
  charts.cores.show(chartData(samples, 2, 4, isPower ? [] : steps, now, shown[1], total, isLive), shown);
  $("cores-chart").setAttribute("aria-label", `Cores over time: ${last[2]} of ${total} in use`);
  $("queue-head").hidden = $("queue-part").hidden = !isLive;
  const isSwitched = plan.nodes_on.length > 0 || samples.some((one) => one[5] < hello.nodes.length);
  $("on-head").hidden = $("on-chart").hidden = !isSwitched;
  if (isSwitched) {
    charts.on ??= new TimeChart($("on-chart"), "nodes", [
      { label: "on", colour: "use", filled: true }, { label: "planned, at least", colour: "cap" }], clock());
    const planned = plan.nodes_on.length ? [[now, plan.nodes_on[0][1]], ...plan.nodes_on.slice(1)] : [];
    const data = chartData(samples.map((one) => [...one, null]), 5, 7, planned, now, shown[1], null, isLive);
    charts.on.show(data, shown);
    $("on-chart").setAttribute("aria-label", `Nodes that are on: ${last[5]} now`);
  }
  drawGrid($("overview-grid"), $("grid-legend"));
  const waiting = [...app.jobs.values()].filter((row) => value(row, "state") === "waiting");
  const next = waiting.sort((a, b) => value(a, "id") - value(b, "id")).slice(0, 10);
  fillTable($("queue-table"), [{ text: "Job" }, { text: "Name" }, { text: "User" }, { text: "Cores", class: "number" },
    { text: "Waits since" }], next.map((row) => [jobLink(value(row, "id")), plain(value(row, "name")),
    value(row, "user"), value(row, "cores"), moment(value(row, "submitted_ms"))]));
}

/** How charts name times: local, UTC, or since the begin of a trace. */
function clock() {
  return app.hello.kind === "live" ? "local" : app.hello.is_dated ? "utc" : "none";
}

function drawRanges(names) {
  const box = $("ranges");
  if (box.childElementCount !== names.length) {
    box.replaceChildren(...names.map((name) => make("button", name, {
      type: "button", onclick: () => { range = name; draw(); },
    })));
  }
  for (const one of box.children) one.setAttribute("aria-pressed", String(one.textContent === range));
}

const CLOSED = ["drained", "draining"], BOOTS = ["booting", "shutting down"], BAD = ["unreachable", "down"];

function kindOf(state) {
  return BAD.includes(state) ? "bad" : CLOSED.includes(state) ? "closed" : BOOTS.includes(state) ? "boots"
    : state === "off" ? "off" : "up";
}

/** Nodes as a grid, of which one is reached by Tab and the others by arrow keys. */
function drawGrid(grid, legend) {
  const { nodes, hello } = app;
  if (grid.childElementCount !== hello.nodes.length) {
    grid.replaceChildren(...hello.nodes.map(([name], at) => {
      const cell = make("a", null, { href: `#/nodes/${encodeURIComponent(name)}`, tabindex: at ? "-1" : "0" });
      cell.append(make("i"), make("b", name));
      return cell;
    }));
  }
  const counts = {};
  hello.nodes.forEach(([name], at) => {
    const [state, used, jobs] = nodes[at], cell = grid.children[at], cores = hello.cores[at];
    const text = `${name}: ${state}, ${+used.toFixed(1)} of ${cores} cores, ${many(jobs, "job")}`;
    counts[state] = (counts[state] || 0) + 1;
    if (cell.title === text) return;
    cell.title = text;
    cell.setAttribute("aria-label", text);
    cell.className = kindOf(state);
    cell.firstChild.style.height = `${cores ? (100 * used) / cores : 0}%`;
  });
  const words = { bad: "stripes", closed: "orange", boots: "upright lines", off: "grey", up: "framed, filled by use" };
  legend.textContent = Object.entries(counts).map(([state, n]) => `${n} ${state} (${words[kindOf(state)]})`).join(", ");
}

function onGridKey(one) {
  const cells = [...one.currentTarget.children], at = cells.indexOf(document.activeElement);
  if (at < 0) return;
  const wide = Math.max(1, cells.findIndex((cell) => cell.offsetTop > cells[0].offsetTop));
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + wide, ArrowUp: at - wide, Home: 0,
    End: cells.length - 1 }[one.key];
  if (to === undefined || !cells[to]) return;
  one.preventDefault();
  cells[at].tabIndex = -1;
  cells[to].tabIndex = 0;
  cells[to].focus();
}

function jobLink(id) {
  return link(id, `#/jobs/${id}`);
}

function stateText(row) {
  const state = value(row, "state");
  return make("span", state, { class: `state-${state}` });
}

function runMs(row) {
  const [begin, end] = [value(row, "started_ms"), value(row, "ended_ms")];
  if (begin === null) return null;
  if (end !== null) return end - begin;
  return value(row, "state") === "running" ? nowMs() - begin : null;
}

function found() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean), state = $("state").value;
  const rows = [];
  for (const row of app.jobs.values()) {
    const its = value(row, "state");
    if (state !== "all" && its !== state && !(state === "unfinished" && UNFINISHED.includes(its))) continue;
    if (words.every((word) => row.search.includes(word))) rows.push(row);
  }
  const by = sortBy.replace("-", ""), sign = sortBy[0] === "-" ? -1 : 1;
  const key = by === "run" ? runMs : (row) => value(row, by);
  const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -sign : sign);
  return rows.sort((a, b) => compare(key(a), key(b)) || value(b, "id") - value(a, "id"));
}

function drawJobs() {
  const rows = found(), pages = Math.max(Math.ceil(rows.length / PER_PAGE), 1);
  shownPage = Math.min(shownPage, pages - 1);
  const words = $("search").value.trim();
  const count = $("jobs-count");
  count.textContent = `${rows.length} of ${app.jobs.size} jobs` +
    (app.jobs.size >= app.hello.most_rows ? "; others are found by their number" : "");
  if (/^\d+$/.test(words) && !app.jobs.has(Number(words)) && app.hello.kind === "live") {
    count.append("; ", link(`look for job ${words}`, `#/jobs/${words}`));
  }
  $("page-number").textContent = `page ${shownPage + 1} of ${pages}`;
  $("previous").disabled = shownPage === 0;
  $("next").disabled = shownPage >= pages - 1;
  const head = [
    { text: "Job", sort: "id" }, { text: "Name", sort: "name" }, { text: "User", sort: "user" },
    { text: "State", sort: "state" }, { text: "Nodes", sort: "nodes", class: "number wide" },
    { text: "Cores", sort: "cores", class: "number" }, { text: "Submitted", sort: "submitted_ms", class: "wide" },
    { text: "Started", sort: "started_ms", class: "wide" }, { text: "Run time", sort: "run", class: "number" },
    ...(app.hello.power ? [{ text: "Watts", sort: "watts", class: "number wide" }] : []),
    { text: "On", class: "wide" },
  ];
  fillTable($("jobs-table"), head, rows.slice(shownPage * PER_PAGE, (shownPage + 1) * PER_PAGE).map((row) => [
    jobLink(value(row, "id")), plain(value(row, "name")), value(row, "user"), stateText(row), value(row, "nodes"),
    value(row, "cores"), moment(value(row, "submitted_ms")), moment(value(row, "started_ms")), span(runMs(row)),
    ...(app.hello.power ? [value(row, "watts") === null ? "" : +value(row, "watts").toPrecision(6)] : []),
    value(row, "on").join(", ") + (value(row, "nodes") > value(row, "on").length && value(row, "on").length ? ", …" : ""),
  ]));
}

// ---------------------------------------------------------------------------------------------------------------------
// A job, a node, and energy are read when they are looked at.

let looked = { key: "", told: null, output: null, forecast: null, error: "" }, ofErrors = false;

async function lookUp() {
  const { view, name } = place(), key = `${view} ${name} ${view === "job" && ofErrors}`;
  if (looked.key !== key) looked = { key, told: null, output: null, forecast: null, error: "", atMs: 0 };
  if (!app.hello || isDown || document.hidden || Date.now() < looked.atMs + (view === "energy" ? 30 * LOOKED_UP_MS : 0)) return;
  const isOver = looked.told && view === "job" && !UNFINISHED.includes(looked.told.state);
  if (isOver && app.jobs.has(Number(name)) && value(app.jobs.get(Number(name)), "state") === looked.told.state) return;
  const path = encodeURIComponent(name), live = app.hello.kind === "live";
  try {
    const mine = { ...looked, error: "", atMs: Date.now() };
    if (view === "job") {
      mine.told = await get(`/api/jobs/${path}`);
      if (live && mine.told.state === "waiting") mine.forecast = await get(`/api/forecast/${path}`);
      if (live && mine.told.output && mine.told.started_ms) {
        mine.output = await get(`/api/jobs/${path}/output?error=${Number(ofErrors)}`);
      }
    } else if (view === "node") {
      mine.told = await get(`/api/nodes/${path}`);
    } else if (view === "energy") {
      mine.told = await get("/api/energy");
    }
    if (looked.key === key) looked = mine;
  } catch (error) {
    if (looked.key === key) looked.error = error.message;
  }
  draw();
}

function drawJob() {
  const { name } = place(), job = looked.told, row = app.jobs.get(Number(name));
  $("job-head").textContent = `Job ${name}`;
  if (!job) {
    fillFacts($("job-facts"), [["", looked.error || "Looking …"]]);
    $("job-actions").replaceChildren();
    $("output").textContent = "";
    return;
  }
  const state = row ? value(row, "state") : job.state;
  const expected = looked.forecast?.expected_ms;
  const facts = app.hello.kind === "run" ? runFacts(job) : [
    ["State", state], ["Why", job.why], ["Name", plain(job.name)], ["User", job.user],
    ["Command", plain((job.argv || []).join(" ")) || (job.has_script ? "a script" : "")],
    ["Submitted", moment(job.submitted_ms)],
    ["Expected start", state !== "waiting" ? "" : expected ? `${moment(expected)}, or earlier` : "unknown"],
    ["Started", moment(row ? value(row, "started_ms") : job.started_ms)],
    ["Ended", moment(row ? value(row, "ended_ms") : job.ended_ms)],
    ["Run time", row ? span(runMs(row)) : ""], ["Longest run time", span(job.walltime_s * 1000)],
    ["Exit code", job.code === null ? "" : String(job.code)], ["Signal", job.signal === null ? "" : String(job.signal)],
    ["Cores", `${job.cpus} on each of ${many(job.node_count, "node")}`], ["GPUs of a node", job.gpus || ""],
    ["Power that it adds", row && value(row, "watts") !== null ? watts(value(row, "watts")) : ""],
    ["Power as measured", job.measured_w === null ? "" : `${watts(job.measured_w)} on each node`],
    ["Nodes", nodeLinks(job.nodes)], ["Array", job.array === null ? "" : `${job.array}, index ${job.index}`],
    ["Runs", job.attempt > 1 ? `${job.attempt}` : ""], ["Folder", job.cwd],
  ];
  fillFacts($("job-facts"), facts);
  drawActions(job, state);
  drawOutput();
}

/** Facts of a job of a finished run: times in ms, spans in s, and power in W. */
function runFacts(job) {
  const words = { Submitted: moment, Started: moment, Ended: moment, Wait: (s) => span(s * 1000),
    "Run time": (s) => span(s * 1000), "Longest run time": (s) => span(s * 1000), "Power that it adds": watts };
  const facts = Object.entries(job.facts).map(([name, one]) => [name, one === null ? "" : (words[name] || String)(one)]);
  return [...facts, ["Nodes", nodeLinks(job.on.map(([name]) => name))]];
}

function nodeLinks(names) {
  const box = make("span");
  names.forEach((name, at) => box.append(at ? ", " : "", link(name, `#/nodes/${encodeURIComponent(name)}`)));
  return names.length ? box : "";
}

function isMine(job) {
  return app.hello.kind === "live" && (app.hello.operator || job.uid === app.hello.uid);
}

function drawActions(job, state) {
  const may = !isMine(job) ? [] : {
    waiting: ["cancel", "hold"], held: ["cancel", "release"], running: ["cancel"], failed: ["retry"],
    timeout: ["retry"], unknown: ["release", "retry"],
  }[state] || [];
  const box = $("job-actions"), key = `${job.id} ${may}`;
  if (box.dataset.key === key) return; // keeps the focus
  box.dataset.key = key;
  box.replaceChildren(...may.map((what) => make("button", `${what[0].toUpperCase()}${what.slice(1)}`, {
    type: "button", onclick: async () => {
      if (what === "cancel" && !(await confirmed(`Cancel job ${job.id}?`))) return;
      if (await post(`/api/jobs/${job.id}/${what}`)) lookUp();
    },
  })));
}

function drawOutput() {
  const told = looked.output, box = $("output-kinds");
  $("job-output-part").hidden = app.hello.kind === "run" || !told;
  if (!told) return;
  if (!box.childElementCount) {
    box.replaceChildren(...[["Output", false], ["Errors", true]].map(([text, errors]) => make("button", text, {
      type: "button", onclick: () => { ofErrors = errors; lookUp(); },
    })));
  }
  [...box.children].forEach((one, at) => one.setAttribute("aria-pressed", String(Boolean(at) === ofErrors)));
  $("output-path").textContent = told.why || told.path;
  const text = plain(told.text), place = $("output");
  if (place.textContent !== text) {
    const atEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 8;
    place.textContent = text;
    if (atEnd) place.scrollTop = place.scrollHeight;
  }
}

function drawNodes() {
  drawGrid($("nodes-grid"), $("nodes-legend"));
}

function drawNode() {
  const { name } = place(), at = app.hello.nodes.findIndex((one) => one[0] === name);
  $("node-head").textContent = `Node ${name}`;
  if (at < 0) {
    fillFacts($("node-facts"), [["", "There is no such node."]]);
    return;
  }
  const [state, used, , why] = app.nodes[at];
  fillFacts($("node-facts"), [["State", state], ["Why", why], ["Host", app.hello.nodes[at][1]],
    [app.hello.kind === "run" ? "Mean use" : "Use", `${+used.toFixed(1)} of ${app.hello.cores[at]} cores`]]);
  const isLive = app.hello.kind === "live", box = $("node-actions");
  const may = isLive && app.hello.operator ? (["drained", "draining", "down"].includes(state) ? "resume" : "drain") : "";
  if (box.dataset.key !== `${name} ${may}`) {
    box.dataset.key = `${name} ${may}`;
    box.replaceChildren(...(may ? [make("button", may === "drain" ? "Drain" : "Resume", {
      type: "button", onclick: async () => {
        if (may === "drain" && !(await confirmed(`Drain ${name}? Its jobs go on, and no job starts there.`))) return;
        await post(`/api/nodes/${encodeURIComponent(name)}/${may}`, may === "drain" ? { why: "drained on the page" } : {});
      },
    })] : []));
  }
  const here = (looked.told?.jobs || []).map((id) => app.jobs.get(id)).filter(Boolean);
  fillTable($("node-jobs"), [{ text: "Job" }, { text: "Name" }, { text: "User" }, { text: "State" },
    { text: "Cores", class: "number" }, { text: "Started" }, { text: "Run time", class: "number" }],
  here.map((row) => [jobLink(value(row, "id")), plain(value(row, "name")), value(row, "user"), stateText(row),
    value(row, "cores"), moment(value(row, "started_ms")), span(runMs(row))]));
  const next = looked.told?.reservations || [];
  fillTable($("node-next"), [{ text: "Job" }, { text: "Start, or earlier" }],
    next.map((one) => [jobLink(one.id), moment(one.expected_ms)]));
}

function drawEnergy() {
  const told = looked.told, money = app.hello.currency;
  $("energy-note").textContent = told?.note || looked.error || "";
  if (!told) return;
  const number = (one, digits) => (one === null || one === undefined ? "unknown" : one.toFixed(digits));
  const [arePriced, isPriced] = [told.users.some((one) => one[3] !== null), told.hours.some((one) => one[4] !== null)];
  const cost = (shown) => (shown ? [{ text: `Cost, ${money}`, class: "number" }] : []);
  fillTable($("energy-users"), [{ text: "User" }, { text: "Core-hours", class: "number" },
    { text: "kWh", class: "number" }, ...cost(arePriced)],
  told.users.map(([user, hours, kwh, price]) => [user || "unknown", number(hours, 2), number(kwh, 3),
    ...(arePriced ? [number(price, 3)] : [])]));
  const hours = [...told.hours].reverse().slice(0, 240);
  fillTable($("energy-hours"), [{ text: "Hour" }, { text: "Mean power", class: "number" },
    { text: "Largest", class: "number" }, { text: "kWh", class: "number" }, ...cost(isPriced)],
  hours.map(([at, mean, peak, kwh, price]) => [moment(at * 1000), watts(mean), watts(peak), number(kwh, 3),
    ...(isPriced ? [number(price, 3)] : [])]));
  $("energy-chart").hidden = !told.hours.length;
  if (!told.hours.length) return;
  charts.energy ??= new TimeChart($("energy-chart"), "kWh in an hour",
    [{ label: "kWh", colour: "use", filled: true }], clock());
  const last = told.hours[told.hours.length - 1][0] + 3600;
  const kwhs = told.hours.map((one) => one[3]);
  charts.energy.show([[...told.hours.map((one) => one[0]), last], [...kwhs, kwhs[kwhs.length - 1]]],
    [told.hours[0][0], last]);
}

// ---------------------------------------------------------------------------------------------------------------------
// The cap, colours, and the begin.

/** Cap of an amount as `12kW` or `480cores`, from now on; null: no such amount. */
function capOf(text, isHard) {
  const told = /^\s*(\d+(?:\.\d+)?)\s*(W|kW|MW|cores)\s*$/.exec(text);
  if (!told) return null;
  const scale = { W: 1, kW: 1e3, MW: 1e6, cores: 1 }[told[2]];
  const amount = Math.round(Number(told[1]) * scale);
  return { kind: told[2] === "cores" ? "cores" : "power", hard: isHard, source: text.trim(),
    steps: [[0, amount]] };
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Light" : "Dark";
  for (const chart of Object.values(charts)) chart.rebuild();
}

function begin() {
  for (const name of STATES) $("state").append(make("option", name, { value: name }));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = localStorage.getItem("theme");
  setTheme(chosen || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => chosen || setTheme(dark.matches ? "dark" : "light"));
  $("theme").addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", chosen);
    setTheme(chosen);
  });
  $("filter").addEventListener("submit", (one) => one.preventDefault());
  for (const id of ["search", "state"]) {
    $(id).addEventListener("input", () => { shownPage = 0; keepFilter(); });
  }
  $("previous").addEventListener("click", () => { shownPage -= 1; keepFilter(); });
  $("next").addEventListener("click", () => { shownPage += 1; keepFilter(); });
  for (const id of ["overview-grid", "nodes-grid"]) $(id).addEventListener("keydown", onGridKey);
  $("cap-form").addEventListener("submit", async (one) => {
    one.preventDefault();
    const cap = capOf($("cap-value").value, !one.target.elements.soft.checked);
    if (!cap) {
      complain("A cap is an amount with a unit: 12kW, 9600W, 480cores.");
    } else if (await confirmed(`Set a ${cap.hard ? "hard" : "soft"} cap of ${cap.source}?`)) {
      await post("/api/cap", cap);
    }
  });
  $("cap-off").addEventListener("click", async () => {
    if (await confirmed("Remove the cap?")) await post("/api/cap", { off: true });
  });
  $("sign-out").addEventListener("click", async () => {
    if (await post("/close")) location.reload();
  });
  document.querySelector(".skip").addEventListener("click", (one) => {
    one.preventDefault();
    $("main").focus();
  });
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("hashchange", () => {
    onMove();
    $("main").focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  setInterval(() => { if (!isDown) draw(); }, 1000);
  setInterval(lookUp, LOOKED_UP_MS);
  onMove();
  if (!document.hidden) connect();
}

begin();
