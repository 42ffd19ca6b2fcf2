// Drawing with WebGL2. Frames stay on the graphics card; playing moves pointers into them and mixes neighbours.

const COMMON = `#version 300 es
precision highp float;
uniform mat4 view, projection;
uniform vec3 low, span, own, eye, sun;
uniform vec4 plane;
uniform vec2 pixel;
uniform float blend, labelled, painted, shadow, thick;
uniform sampler2D table;
vec3 toPlane(vec3 p) { return p - sun * ((dot(p, plane.xyz) - plane.w) / dot(sun, plane.xyz)) + plane.xyz * thick; }
vec3 colour(float value, float label) {
  if (painted < 0.5) return own;
  float entry = labelled > 0.5 ? label : value;
  if (entry > 254.5) return vec3(0.62);
  return texture(table, vec2((entry + 0.5) / 256.0, 0.5)).rgb;
}
vec3 lit(vec3 base, vec3 normal) {
  float sky = 0.62 + 0.14 * normal.z;
  float direct = 0.36 * max(dot(normal, sun), 0.0);
  return base * (sky + direct);
}`;

const SHADERS = {
  mesh: [`
in vec3 a, b; in float value, valueNext;
out vec3 place; out float smoothValue; flat out float label;
void main() {
  place = low + span * mix(a, b, blend);
  smoothValue = mix(value, valueNext, blend); label = value;
  gl_Position = projection * view * vec4(shadow > 0.5 ? toPlane(place) : place, 1.0);
}`, `
in vec3 place; in float smoothValue; flat in float label; out vec4 pixelColour;
void main() {
  if (shadow > 0.5) { if (dot(place, plane.xyz) < plane.w) discard; pixelColour = vec4(own, 1.0); return; }
  vec3 normal = normalize(cross(dFdx(place), dFdy(place)));
  pixelColour = vec4(lit(colour(smoothValue, label), normal), 1.0);
}`],
  spheres: [`
in vec2 corner; in vec3 a, b; in float radius, value, valueNext;
out vec3 seen, middle; out vec2 across; out float size, smoothValue; flat out float label;
void main() {
  vec3 centre = low + span * mix(a, b, blend);
  smoothValue = mix(value, valueNext, blend); label = value; size = radius; across = corner;
  middle = (view * vec4(centre, 1.0)).xyz;
  if (shadow > 0.5) {
    vec3 u = normalize(cross(plane.xyz, abs(plane.x) < 0.9 ? vec3(1.0, 0.0, 0.0) : vec3(0.0, 1.0, 0.0)));
    vec3 flatPlace = toPlane(centre) + radius * (corner.x * u + corner.y * cross(plane.xyz, u));
    gl_Position = projection * view * vec4(flatPlace, 1.0);
    return;
  }
  vec3 side = normalize(cross(middle, vec3(0.0, 1.0, 0.0))), top = normalize(cross(side, middle));
  float reach = 1.0 / sqrt(max(1.0 - radius * radius / dot(middle, middle), 0.05));
  seen = middle + radius * reach * (corner.x * side + corner.y * top);
  gl_Position = projection * vec4(seen, 1.0);
}`, `
in vec3 seen, middle; in vec2 across; in float size, smoothValue; flat in float label; out vec4 pixelColour;
void main() {
  gl_FragDepth = gl_FragCoord.z;
  if (shadow > 0.5) { if (dot(across, across) > 1.0) discard; pixelColour = vec4(own, 1.0); return; }
  vec3 ray = normalize(seen);
  float along = dot(ray, middle), under = along * along - dot(middle, middle) + size * size;
  if (under < 0.0) discard;
  vec3 hit = ray * (along - sqrt(under));
  vec3 normal = transpose(mat3(view)) * normalize(hit - middle);
  vec4 clip = projection * vec4(hit, 1.0);
  gl_FragDepth = 0.5 * clip.z / clip.w + 0.5;
  pixelColour = vec4(lit(colour(smoothValue, label), normal), 1.0);
}`],
  lines: [`
in vec2 corner; in vec3 a, b, c, d; in float value, valueNext;
out float smoothValue; flat out float label;
void main() {
  vec4 p = projection * view * vec4(low + span * mix(a, b, blend), 1.0);
  vec4 q = projection * view * vec4(low + span * mix(c, d, blend), 1.0);
  vec2 along = normalize((q.xy / q.w - p.xy / p.w) / pixel + vec2(1e-6, 0.0));
  vec4 end = corner.x < 0.0 ? p : q;
  end.xy += vec2(-along.y, along.x) * corner.y * pixel * thick * end.w;
  smoothValue = mix(value, valueNext, blend); label = value;
  gl_Position = end;
}`, `
in float smoothValue; flat in float label; out vec4 pixelColour;
void main() { pixelColour = vec4(colour(smoothValue, label), 1.0); }`],
  plane: [`
in vec2 corner;
out vec3 place; out vec2 grid;
uniform vec3 origin, u, v; uniform float reach;
void main() {
  grid = corner * reach; place = origin + grid.x * u + grid.y * v;
  gl_Position = projection * view * vec4(place, 1.0);
}`, `
in vec3 place; in vec2 grid; out vec4 pixelColour;
uniform vec3 origin, u, v, back; uniform float reach, cell;
float line(vec2 at) { vec2 w = fwidth(at); vec2 d = abs(fract(at - 0.5) - 0.5) / w; return (1.0 - min(min(d.x, d.y), 1.0)) * clamp(0.5 / max(w.x, w.y) - 1.0, 0.0, 1.0); }
void main() {
  vec2 at = vec2(dot(place, u), dot(place, v)) / cell;
  vec3 shade = mix(own, own * 0.86, max(0.55 * line(at), line(at / 10.0)));
  pixelColour = vec4(mix(back, shade, 1.0 - smoothstep(0.35, 1.0, length(grid) / reach)), 1.0);
}`],
};

const QUAD = new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]);
const BACK = [0.933, 0.941, 0.949];
const SUN = unit([0.35, -0.25, 1.0]);

class Stage {
  constructor(canvas, data) {
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("this browser has no WebGL 2, which the 3-D view needs");
    Object.assign(this, { gl, canvas, data, programs: {}, hidden: new Set(), field: "" });
    for (const [name, [vertex, fragment]] of Object.entries(SHADERS)) this.programs[name] = this.program(vertex, fragment);
    this.quad = this.buffer(QUAD);
    for (const run of data.runs) this.upload(run);
    this.table = gl.createTexture();
    gl.enable(gl.DEPTH_TEST);
    gl.clearColor(...BACK, 1);
  }

  program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, COMMON + source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const places = { uniforms: {}, attributes: {} };
    for (let i = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) - 1; i >= 0; i--) {
      const { name } = gl.getActiveUniform(program, i);
      places.uniforms[name] = gl.getUniformLocation(program, name);
    }
    for (let i = gl.getProgramParameter(program, gl.ACTIVE_ATTRIBUTES) - 1; i >= 0; i--) {
      const { name } = gl.getActiveAttrib(program, i);
      places.attributes[name] = gl.getAttribLocation(program, name);
    }
    return { program, ...places };
  }

  buffer(values, target = this.gl.ARRAY_BUFFER) {
    const made = this.gl.createBuffer();
    this.gl.bindBuffer(target, made);
    this.gl.bufferData(target, values, this.gl.STATIC_DRAW);
    return made;
  }

  upload(run) {
    run.elements = run.kind === "lines" ? run.index.length / 2 : run.size;
    run.gpu = { positions: this.buffer(run.positions), fields: {} };
    for (const [name, values] of Object.entries(run.fields)) run.gpu.fields[name] = this.buffer(values);
    if (run.kind === "mesh") run.gpu.index = this.buffer(run.index, this.gl.ELEMENT_ARRAY_BUFFER);
    if (run.kind === "spheres") run.gpu.radii = this.buffer(new Float32Array(run.radii));
    run.triangles = run.kind === "mesh" ? run.index.length : 0;
    run.positions = run.index = run.fields = null;
  }

  colourBy(name) {
    const gl = this.gl, scale = this.data.scales[name];
    this.field = name;
    if (!scale) return;
    const texels = new Uint8Array(256 * 4).fill(255);
    scale.table.forEach((c, i) => texels.set(c, 4 * i));
    gl.bindTexture(gl.TEXTURE_2D, this.table);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
    const filter = scale.labels.length ? gl.NEAREST : gl.LINEAR;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  }

  draw(camera, frame, blend) {
    const gl = this.gl, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [w, h] = [Math.round(this.canvas.clientWidth * ratio), Math.round(this.canvas.clientHeight * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    gl.viewport(0, 0, w, h);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.scene = {
      view: lookingAt(camera.eye, camera.target), eye: camera.eye, sun: SUN, pixel: [2 / w, 2 / h], blend,
      projection: perspective(camera.angle, w / h, camera.distance * 0.02, camera.distance * 30 + 10 * this.data.radius),
    };
    const planes = this.data.planes.filter((p) => dot(camera.eye, p.normal) > p.offset);
    for (const plane of planes) this.plane(plane, camera);
    for (const run of this.data.runs) {
      const at = frame - run.first;
      if (at < 0 || at >= run.count || this.hidden.has(run.name) || !run.size) continue;
      this.run(run, at, null);
      for (const plane of planes) if (run.kind !== "lines") this.run(run, at, plane);
    }
  }

  use(name, uniforms) {
    const gl = this.gl, { program, uniforms: places } = this.programs[name];
    gl.useProgram(program);
    for (const [key, value] of Object.entries({ ...this.scene, ...uniforms })) {
      const place = places[key];
      if (!place) continue;
      if (typeof value === "number") gl.uniform1f(place, value);
      else if (value.length === 16) gl.uniformMatrix4fv(place, false, value);
      else gl[`uniform${value.length}fv`](place, value);
    }
  }

  attribute(program, name, buffer, size, type, stride, offset, divisor, normalized = false) {
    const gl = this.gl, place = this.programs[program].attributes[name];
    if (place === undefined) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, normalized, stride, offset);
    gl.vertexAttribDivisor(place, divisor);
    this.enabled.push(place);
  }

  run(run, at, plane) {
    const gl = this.gl, kind = run.kind, instanced = kind === "mesh" ? 0 : 1;
    const next = Math.min(at + 1, run.count - 1);
    const painted = !plane && run.gpu.fields[this.field] ? 1 : 0;
    const own = plane ? plane.color.map((c) => 0.8 * c) : run.color;
    const span = add(run.high, run.low, -1);
    const thick = plane ? 2e-3 * this.data.radius : 1.1 * Math.min(window.devicePixelRatio || 1, 2);
    const labelled = painted && this.data.scales[this.field].labels.length ? 1 : 0;
    const flat = plane ? [...plane.normal, plane.offset] : [0, 0, 1, 0];
    this.use(kind, { low: run.low, span, own, painted, labelled, shadow: plane ? 1 : 0, plane: flat, thick });
    this.enabled = [];
    const stride = kind === "lines" ? 12 : 6, bytes = stride * run.elements;
    const ends = kind === "lines" ? [["a", at, 0], ["b", next, 0], ["c", at, 6], ["d", next, 6]] : [["a", at, 0], ["b", next, 0]];
    for (const [name, f, shift] of ends) {
      this.attribute(kind, name, run.gpu.positions, 3, gl.UNSIGNED_SHORT, stride, f * bytes + shift, instanced, true);
    }
    if (painted) {
      const values = run.gpu.fields[this.field];
      this.attribute(kind, "value", values, 1, gl.UNSIGNED_BYTE, 1, at * run.elements, instanced);
      this.attribute(kind, "valueNext", values, 1, gl.UNSIGNED_BYTE, 1, next * run.elements, instanced);
    }
    if (kind === "mesh") {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, run.gpu.index);
      gl.drawElements(gl.TRIANGLES, run.triangles, gl.UNSIGNED_INT, 0);
    } else {
      if (kind === "spheres") this.attribute(kind, "radius", run.gpu.radii, 1, gl.FLOAT, 4, 0, 1);
      this.attribute(kind, "corner", this.quad, 2, gl.FLOAT, 8, 0, 0);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, run.elements);
    }
    for (const place of this.enabled) gl.disableVertexAttribArray(place);
  }

  plane(plane, camera) {
    const gl = this.gl, normal = plane.normal;
    const u = unit(cross(normal, Math.abs(normal[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]));
    const origin = add(camera.target, normal, plane.offset - dot(camera.target, normal));
    const cell = 10 ** Math.round(Math.log10(this.data.radius / 2));
    const reach = 8 * Math.max(this.data.radius, camera.distance);
    this.use("plane", { origin, u, v: cross(normal, u), reach, cell, own: plane.color, back: BACK });
    this.enabled = [];
    this.attribute("plane", "corner", this.quad, 2, gl.FLOAT, 8, 0, 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    for (const place of this.enabled) gl.disableVertexAttribArray(place);
  }
}
