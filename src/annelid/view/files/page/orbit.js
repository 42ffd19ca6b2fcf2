// The camera: drag to turn, shift- or right-drag to move, wheel or pinch to zoom, double-click to go back.

class Orbit {
  constructor(canvas, data, changed) {
    this.home = { azimuth: -0.95, elevation: 0.42, distance: 2.7 * data.radius, shift: [0, 0, 0] };
    Object.assign(this, this.home, { angle: 0.62, pointers: new Map(), data, changed, canvas });
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); this.pointers.set(e.pointerId, e); });
    canvas.addEventListener("pointermove", (e) => this.moved(e));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => this.pointers.delete(e.pointerId));
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(0.0012 * e.deltaY)); }, { passive: false });
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("dblclick", () => { Object.assign(this, this.home); this.changed(); });
  }

  moved(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    if (this.pointers.size === 2) this.pinch(event);
    else if (event.shiftKey || event.buttons & 6) this.pan(dx, dy);
    else this.turn(dx, dy);
    this.pointers.set(event.pointerId, event);
    this.changed();
  }

  turn(dx, dy) {
    this.azimuth -= 0.006 * dx;
    this.elevation = Math.min(1.55, Math.max(-1.55, this.elevation + 0.006 * dy));
  }

  pan(dx, dy) {
    const scale = (2 * this.distance * Math.tan(this.angle / 2)) / this.canvas.clientHeight;
    const back = this.direction(), right = unit(cross([0, 0, 1], back)), up = cross(back, right);
    this.shift = add(add(this.shift, right, -dx * scale), up, dy * scale);
  }

  pinch(event) {
    const other = [...this.pointers.values()].find((p) => p.pointerId !== event.pointerId);
    const gap = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY) || 1;
    this.zoom(gap(this.pointers.get(event.pointerId)) / gap(event));
  }

  zoom(factor) {
    const { radius } = this.data;
    this.distance = Math.min(60 * radius, Math.max(0.05 * radius, this.distance * factor));
    this.changed();
  }

  direction() {
    const flat = Math.cos(this.elevation);
    return [flat * Math.cos(this.azimuth), flat * Math.sin(this.azimuth), Math.sin(this.elevation)];
  }

  camera(middle) {
    const target = add(middle, this.shift);
    return { target, eye: add(target, this.direction(), this.distance), distance: this.distance, angle: this.angle };
  }
}
