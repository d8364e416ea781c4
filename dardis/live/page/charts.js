"use strict";
// Charts over time, drawn by uPlot. Values are arrays of numbers or null; times are Unix seconds.

const DAY_S = 86400;
const GAP_S = 90; // a sample stands for so long

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Axis of amounts: 500, 12k, 1.5M. */
function short(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(4)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(4)}k`;
  return `${+value.toPrecision(4)}`;
}

/** Seconds as days, hours and minutes. */
function since(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(seconds / DAY_S), rest = Math.floor(seconds) - days * DAY_S;
  return `${days}-${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}`;
}

/** Labels of a time axis by their distance, s: see uPlot's `axes.values`. */
const TIMES = [
  [DAY_S * 28, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [DAY_S, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, ":{ss}", "\n{YYYY}-{MM}-{DD} {HH}:{mm}", null, "\n{MM}-{DD} {HH}:{mm}", null, "\n{HH}:{mm}", null, 1],
];

class TimeChart {
  /**
   * `series`: label, colour, whether filled, and whether dashed. `unit` names the axis. `clock`: local, utc, or none
   * (seconds since a begin).
   */
  constructor(place, unit, series, clock) {
    this.place = place;
    this.unit = unit;
    this.series = series;
    this.clock = clock;
    this.plot = null;
    this.data = null;
    this.range = null;
    new ResizeObserver(() => this.resize()).observe(place);
  }

  resize() {
    if (this.plot && this.place.clientWidth) {
      this.plot.setSize({ width: this.place.clientWidth, height: this.height() });
    }
  }

  height() {
    return this.place.clientWidth < 500 ? 190 : 230;
  }

  /** Draw anew, as after a change of colours. */
  rebuild() {
    if (this.plot) this.plot.destroy();
    this.plot = null;
    if (this.data) this.show(this.data, this.range);
  }

  /** `data`: times, and a list of values for each series. `range`: first and last time. */
  show(data, range) {
    this.data = data;
    this.range = range;
    if (!this.place.clientWidth) return; // not visible now
    if (!this.plot) {
      const axis = {
        stroke: colour("front"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") },
      };
      const stepped = uPlot.paths.stepped({ align: 1 });
      this.plot = new uPlot({
        width: this.place.clientWidth, height: this.height(),
        tzDate: this.clock === "utc" ? (s) => uPlot.tzDate(new Date(s * 1e3), "Etc/UTC") : undefined,
        scales: {
          x: { time: this.clock !== "none", range: () => this.range },
          y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most || 1) * 1.06] },
        },
        axes: [{ ...axis, values: this.clock === "none" ? (_, all) => all.map(since) : TIMES, space: 80 }, { ...axis, label: this.unit, size: 62, values: (_, all) => all.map(short) }],
        series: [{ label: "time", value: this.clock === "none" ? (_, one) => since(one) : "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}" }, ...this.series.map((one) => ({
          label: one.label, stroke: colour(one.colour), width: one.filled ? 1.5 : 2, paths: stepped,
          fill: one.filled ? `${colour(one.colour)}44` : undefined, dash: one.dashed ? [6, 4] : undefined,
          points: { show: false }, value: (_, value) => (value === null || value === undefined ? "–" : short(value)),
        }))],
        cursor: { drag: { x: false, y: false } },
      }, data, this.place);
    } else {
      this.plot.setData(data);
    }
  }
}

/**
 * Times and values of samples, and of the steps to come. `use` and `cap`: columns of a sample. If `hasGaps`, a time
 * without samples gives a gap. `total`: a constant, or null.
 */
function chartData(samples, use, cap, steps, now, end, total, hasGaps) {
  const gap = hasGaps ? GAP_S : Infinity;
  const times = [], uses = [], caps = [];
  const put = (time, one, limit) => {
    if (times.length && time <= times[times.length - 1]) return;
    times.push(time); uses.push(one); caps.push(limit);
  };
  let last = null;
  for (const sample of samples) {
    if (last && sample[0] > last[0] + gap) put(last[0] + gap, null, null);
    if (last && last[cap] !== null && sample[cap] === null) put(sample[0] - 0.5, last[use], last[cap]);
    put(sample[0], sample[use], sample[cap]);
    last = sample;
  }
  if (last) {
    if (steps.length && steps[0][0] <= now) last = [...last.slice(0, cap), steps[0][1], ...last.slice(cap + 1)];
    put(now, now <= last[0] + gap ? last[use] : null, last[cap]);
    let limit = last[cap];
    for (const [time, value] of steps) {
      put(time, null, value);
      limit = value;
    }
    if (end > now) put(end, null, limit);
  }
  const data = [times, uses, caps];
  if (total !== null) data.push(times.map(() => total));
  return data;
}
