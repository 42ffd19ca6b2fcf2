// Vectors and 4x4 matrices (columns after each other, as WebGL wants them).

const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const s = 1 / (Math.hypot(...a) || 1); return [a[0] * s, a[1] * s, a[2] * s]; };
const mix = (a, b, t) => a.map((x, i) => x + (b[i] - x) * t);

function product(a, b) {
  const out = new Array(16).fill(0);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  return out;
}

function perspective(height, aspect, near, far) {
  const f = 1 / Math.tan(height / 2);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
}

function lookingAt(eye, target) {
  const back = unit(add(eye, target, -1));
  const right = unit(cross([0, 0, 1], back));
  const up = cross(back, right);
  return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
}
