// A picture that is moved and made larger: by mouse, wheel, one finger or two, buttons and keys.
const LEAST = 0.15, MOST = 4;
const STEP = 1.25;

// `svg` holds one group, `inner`, that is moved.  `onView(scale)` runs after every change.
export class PanZoom {
  constructor(svg, inner, onView) {
    Object.assign(this, { svg, inner, onView, x: 0, y: 0, scale: 1, fingers: new Map(), moved: false });
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.004), this.at(event));
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => this.down(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  down(event) {
    if (event.button > 0) return;
    this.fingers.set(event.pointerId, this.at(event));
    if (this.fingers.size === 1) this.moved = false;
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = this.at(event);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (!this.moved && Math.hypot(now.x - before.x, now.y - before.y) < 4) return; // a click is allowed to shake
    if (!this.moved) this.svg.setPointerCapture(event.pointerId);
    this.moved = true;
    if (other) {
      const [was, is] = [before, now].map((one) => Math.hypot(one.x - other.x, one.y - other.y));
      this.zoom(is / (was || 1), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    } else this.pan(now.x - before.x, now.y - before.y);
    this.fingers.set(event.pointerId, now);
  }

  // Whether the click that comes now only ended a drag.
  dragged() {
    const { moved } = this;
    this.moved = false;
    return moved;
  }

  pan(x, y) {
    this.x += x;
    this.y += y;
    this.draw();
  }

  // Around a point of the screen, which stays where it is; without one around the middle.
  zoom(by, point) {
    const { x, y } = point ?? { x: this.svg.clientWidth / 2, y: this.svg.clientHeight / 2 };
    const scale = Math.max(LEAST, Math.min(MOST, this.scale * by));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.draw();
  }

  in() { this.zoom(STEP); }
  out() { this.zoom(1 / STEP); }

  // All of it in sight: `points` are of the picture.  Never larger than it was drawn, unless there is next to nothing.
  fit(points, edge = 56) {
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (!points.length || !width) return;
    const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const room = (size) => Math.max(40, size - 2 * Math.min(edge, size / 5));
    const scale = Math.min(room(width) / Math.max(1, right - left), room(height) / Math.max(1, bottom - top), 1.2);
    this.scale = Math.max(LEAST, scale);
    this.x = width / 2 - ((left + right) / 2) * this.scale;
    this.y = height / 2 - ((top + bottom) / 2) * this.scale;
    this.draw();
  }

  // A point of the picture is brought into sight, if it is not.
  show({ x, y }, edge = 48) {
    const [at, up] = [x * this.scale + this.x, y * this.scale + this.y];
    const { clientWidth: width, clientHeight: height } = this.svg;
    const off = (place, size) => (place < edge ? edge - place : place > size - edge ? size - edge - place : 0);
    this.pan(off(at, width), off(up, height));
  }

  draw() {
    this.inner.setAttribute("transform", `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.scale.toFixed(4)})`);
    this.onView?.(this.scale);
  }
}
