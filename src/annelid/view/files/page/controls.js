// The page: time, colours, numbers. Names come from the recording and are only ever set as text.

const $ = (id) => document.getElementById(id);
const ICONS = { play: "M4 2 L14 8 L4 14 Z", pause: "M3 2 H6.5 V14 H3 Z M9.5 2 H13 V14 H9.5 Z" };

function element(tag, text = "", kind = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = kind;
  return made;
}

function shown(value, unitName = "") {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : Number(value.toPrecision(4)).toString();
  return unitName ? `${text} ${unitName}` : text;
}

class Player {
  constructor(data, stage) {
    Object.assign(this, { data, stage, playing: false, time: data.times[0], stale: true, last: 0 });
    this.orbit = new Orbit($("view"), data, () => { this.stale = true; });
    this.setUp();
    this.update();
    requestAnimationFrame((now) => this.tick(now));
  }

  setUp() {
    const { data } = this;
    $("title").textContent = data.title;
    const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
    for (const s of speeds) $("speed").append(new Option(`${s} ×`, s, s === 1, s === 1));
    $("play").onclick = () => this.toggle();
    $("time").oninput = () => { this.pause(); this.seek(this.begin + ($("time").value / 1000) * this.length); };
    this.begin = data.times[0];
    this.length = data.times[data.times.length - 1] - this.begin;
    $("follow").checked = data.follow;
    $("follow").onchange = () => { this.stale = true; };
    this.setUpColours();
    this.setUpParts();
    this.setUpNumbers();
    for (const event of data.events) {
      const tick = element("i");
      tick.style.left = `${(100 * (event.time - this.begin)) / (this.length || 1)}%`;
      tick.title = `${shown(event.time, "s")}: ${event.name} ${event.text}`;
      $("ticks").append(tick);
    }
    addEventListener("resize", () => { this.stale = true; });
    addEventListener("keydown", (e) => this.key(e));
    this.icon();
  }

  setUpColours() {
    const names = Object.keys(this.data.scales);
    $("color-row").hidden = names.length === 0;
    $("field").append(new Option("none", ""));
    for (const name of names) $("field").append(new Option(name, name));
    $("field").value = this.data.field;
    $("field").onchange = () => this.colour($("field").value);
    this.colour(this.data.field);
  }

  colour(name) {
    this.stage.colourBy(name);
    this.stale = true;
    const legend = $("legend"), scale = this.data.scales[name];
    legend.replaceChildren();
    if (!scale) return;
    if (scale.labels.length) {
      scale.labels.forEach((label, i) => {
        const chip = element("div", "", "chip"), dot = element("i");
        dot.style.background = `rgb(${scale.table[i].slice(0, 3)})`;
        chip.append(dot, element("span", label));
        legend.append(chip);
      });
      return;
    }
    const strip = element("canvas"), ends = element("div", "", "ends");
    Object.assign(strip, { width: 255, height: 1 });
    const image = new ImageData(255, 1);
    scale.table.slice(0, 255).forEach((c, i) => image.data.set(c, 4 * i));
    strip.getContext("2d").putImageData(image, 0, 0);
    ends.append(element("span", shown(scale.limits[0])), element("span", scale.unit), element("span", shown(scale.limits[1])));
    legend.append(strip, ends);
  }

  setUpParts() {
    const names = [...new Set(this.data.runs.map((run) => run.name))];
    for (const name of names.length > 1 && names.length < 30 ? names : []) {
      const row = element("label", "", "check"), box = element("input");
      box.type = "checkbox";
      box.checked = true;
      box.onchange = () => { this.stage.hidden[box.checked ? "delete" : "add"](name); this.stale = true; };
      row.append(box, element("span", name));
      $("parts").append(row);
    }
  }

  setUpNumbers() {
    this.plots = Object.entries(this.data.numbers).map(([name, { unit, values }]) => {
      const row = element("div", "", "number"), head = element("div"), value = element("span"), plot = element("canvas");
      head.append(element("span", name), value);
      row.append(head, plot);
      $("numbers").append(row);
      const finite = values.filter(Number.isFinite);
      return { values, unit, value, plot, low: Math.min(...finite), high: Math.max(...finite) };
    });
    $("numbers").hidden = this.plots.length === 0;
  }

  key(event) {
    if (event.target.tagName === "SELECT") return;
    if (event.key === " ") { event.preventDefault(); this.toggle(); }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && event.target.id !== "time") {
      this.pause();
      const at = Math.min(this.data.times.length - 1, Math.max(0, this.frame + step));
      this.seek(this.data.times[at]);
    }
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    if (this.time >= this.begin + this.length) this.time = this.begin;
    this.playing = true;
    this.icon();
  }

  pause() { this.playing = false; this.icon(); }

  icon() {
    const button = $("play");
    button.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    button.innerHTML = `<svg width="16" height="16" fill="currentColor"><path d="${ICONS[this.playing ? "pause" : "play"]}"/></svg>`;
  }

  seek(time) {
    this.time = Math.min(this.begin + this.length, Math.max(this.begin, time));
    this.update();
  }

  update() {
    const { times } = this.data;
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= this.time) low = middle; else high = middle - 1;
    }
    this.frame = low;
    const gap = low + 1 < times.length ? times[low + 1] - times[low] : 0;
    this.blend = gap > 0 ? (this.time - times[low]) / gap : 0;
    this.stale = true;
  }

  tick(now) {
    const elapsed = Math.min(0.25, (now - this.last) / 1000);
    this.last = now;
    if (this.playing) {
      this.seek(this.time + elapsed * Number($("speed").value));
      if (this.time >= this.begin + this.length) this.pause();
    }
    if (this.stale) { this.stale = false; this.show(); }
    requestAnimationFrame((next) => this.tick(next));
  }

  show() {
    const { middles } = this.data;
    const next = Math.min(this.frame + 1, middles.length - 1);
    const middle = $("follow").checked ? mix(middles[this.frame], middles[next], this.blend) : this.data.middle;
    this.stage.draw(this.orbit.camera(middle), this.frame, this.blend);
    $("time").value = this.length ? (1000 * (this.time - this.begin)) / this.length : 0;
    $("clock").textContent = `${this.time.toFixed(2)} / ${(this.begin + this.length).toFixed(2)} s`;
    for (const plot of this.plots) this.plot(plot);
    document.body.dataset.time = this.time;
  }

  plot({ values, unit: unitName, value, plot, low, high }) {
    value.textContent = shown(values[this.frame] ?? NaN, unitName);
    const ratio = window.devicePixelRatio || 1, pen = plot.getContext("2d");
    const w = plot.clientWidth * ratio, h = plot.clientHeight * ratio;
    if (!w || !h) return;
    if (plot.width !== Math.round(w) || plot.height !== Math.round(h)) Object.assign(plot, { width: Math.round(w), height: Math.round(h) });
    pen.clearRect(0, 0, w, h);
    const x = (t) => ((t - this.begin) / (this.length || 1)) * (w - 2) + 1;
    const y = (v) => h - 3 - ((v - low) / (high - low || 1)) * (h - 6);
    pen.lineWidth = 1.4 * ratio;
    pen.strokeStyle = "#5b6675";
    pen.beginPath();
    let down = false;
    values.forEach((v, i) => {
      if (!Number.isFinite(v)) { down = false; return; }
      pen[down ? "lineTo" : "moveTo"](x(this.data.times[i]), y(v));
      down = true;
    });
    pen.stroke();
    pen.fillStyle = "#c8553d";
    pen.fillRect(x(this.time) - 0.5 * ratio, 0, ratio, h);
  }
}

(async () => {
  try {
    const data = JSON.parse($("data").textContent);
    $("data").textContent = "";
    await decodedRuns(data.runs);
    const stage = new Stage($("view"), data);
    $("panel").hidden = $("bar").hidden = false;
    $("message").hidden = true;
    window.player = new Player(data, stage);
  } catch (error) {
    $("message").textContent = `This recording cannot be shown: ${error.message}.`;
    throw error;
  }
})();
