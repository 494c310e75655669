"use strict";
/* Playback of one run, or of two side by side: tubes and bodies lit like the pictures of elver, a floor with a grid, a
   soft shadow, trails.

   For each canvas "stage..." the page holds two data blocks. "scene..." is JSON: parts, meshes, limits, times.
   "poses..." is base64: for every frame the positions of all nodes (Uint16 within the limits), then for every frame
   their quaternions (Int16, scalar first), then for every measure and frame its values at the nodes of rods (Uint8,
   parts of the largest).
   A rod is smooth between its nodes: its points are a fixed matrix of spline weights times the nodes.
   Nothing is fetched: the file is complete. */

(() => {
  const root = document.documentElement;
  const problems = [];
  const problem = (text) => {
    problems.push(String(text));
    root.dataset.errors = String(problems.length);
    root.dataset.firstError = problems[0];
  };
  root.dataset.errors = "0";
  window.addEventListener("error", (event) => problem(event.message));

  const byId = (id) => document.getElementById(id);
  let sharpness = Math.min(window.devicePixelRatio || 1, 2); // drawn points per point of the page
  const clock = { time: 0, playing: false, speed: 1, rest: 0 };

  // ---------------------------------------------------------------------------------------------- numbers

  const bytes = (text) => Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);

  const DEGREE = Math.PI / 180, ANGLE = 30 * DEGREE; // of view

  function multiply(a, b) { // column by column, as WebGL stores them
    const c = new Float32Array(16);
    for (let j = 0; j < 4; j++) {
      for (let i = 0; i < 4; i++) {
        for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
      }
    }
    return c;
  }
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const inner = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const unit = (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); };
  const direction = (elevation, azimuth) => [
    Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation),
  ];

  function lookAt(eye, target) {
    const z = unit(eye.map((x, k) => x - target[k])), x = unit(cross([0, 0, 1], z)), y = cross(z, x);
    return Float32Array.from([
      x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -inner(x, eye), -inner(y, eye), -inner(z, eye), 1,
    ]);
  }
  function perspective(angle, aspect, near, far) {
    const f = 1 / Math.tan(angle / 2), d = 1 / (near - far);
    return Float32Array.from([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * d, -1, 0, 0, 2 * far * near * d, 0]);
  }

  // ---------------------------------------------------------------------------------------------- shaders

  const SHADED_VERTEX = `#version 300 es
    layout(location = 0) in vec3 a_place; layout(location = 1) in vec3 a_normal; layout(location = 2) in vec4 a_colour;
    layout(location = 3) in float a_value;
    uniform mat4 u_view, u_model; out vec3 v_normal; out vec4 v_colour; out float v_value;
    void main() {
      v_normal = mat3(u_model) * a_normal; v_colour = a_colour; v_value = a_value;
      gl_Position = u_view * (u_model * vec4(a_place, 1.0));
    }`;
  /* The lamp stands above and left of the camera; glare is white, not a purer colour. A value below zero means that
     the part has a colour of its own. */
  const SHADED_FRAGMENT = `#version 300 es
    precision highp float; in vec3 v_normal; in vec4 v_colour; in float v_value; out vec4 colour;
    uniform vec3 u_lamp, u_halfway; uniform sampler2D u_ramp;
    void main() {
      vec3 n = normalize(v_normal);
      float steps = float(textureSize(u_ramp, 0).x) - 1.0;
      vec3 told = texture(u_ramp, vec2((0.5 + steps * clamp(v_value, 0.0, 1.0)) / (steps + 1.0), 0.5)).rgb;
      vec3 plain = v_value < 0.0 ? v_colour.rgb : told;
      vec3 base = mix(plain, 0.45 * plain + 0.55, smoothstep(0.962, 0.976, v_colour.a));
      float light = 0.52 + 0.56 * max(dot(n, u_lamp), 0.0) + 0.08 * max(-n.z, 0.0);
      vec3 lit = base * light + 0.38 * pow(max(dot(n, u_halfway), 0.0), 36.0);
      vec3 over = max(lit - 1.0, 0.0);
      colour = vec4(min(lit + 0.5 * (over.r + over.g + over.b), 1.0), 1.0);
    }`;
  const SHADOW_FRAGMENT = `#version 300 es
    precision mediump float; out vec4 colour; void main() { colour = vec4(1.0); }`;
  /* A shadow is soft: its picture is blurred along one axis, then along the other. */
  const BLUR_VERTEX = `#version 300 es
    layout(location = 0) in vec2 a_corner; out vec2 v_at;
    void main() { v_at = 0.5 + 0.5 * a_corner; gl_Position = vec4(a_corner, 0.0, 1.0); }`;
  const BLUR_FRAGMENT = `#version 300 es
    precision mediump float; in vec2 v_at; out vec4 colour; uniform sampler2D u_shadow; uniform vec2 u_along;
    void main() {
      float sum = 0.0, total = 0.0;
      for (int i = -4; i <= 4; i++) {
        float w = exp(-0.16 * float(i * i));
        sum += w * texture(u_shadow, v_at + float(i) * u_along).r;
        total += w;
      }
      colour = vec4(vec3(sum / total), 1.0);
    }`;
  const FLOOR_VERTEX = `#version 300 es
    layout(location = 0) in vec2 a_corner; uniform mat4 u_view; uniform vec4 u_floor; out vec2 v_place;
    void main() { v_place = u_floor.xy + u_floor.w * a_corner; gl_Position = u_view * vec4(v_place, u_floor.z, 1.0); }`;
  const FLOOR_FRAGMENT = `#version 300 es
    precision highp float; in vec2 v_place; out vec4 colour;
    uniform sampler2D u_shadow; uniform vec3 u_lit; uniform vec4 u_floor; uniform float u_grid; uniform vec3 u_eye;
    void main() {
      vec2 cell = v_place / u_grid, width = max(fwidth(cell), vec2(1e-6));
      vec2 away = abs(fract(cell - 0.5) - 0.5) / width;
      float line = 1.0 - smoothstep(0.6, 1.9, min(away.x, away.y));
      line *= 1.0 - smoothstep(0.15, 0.5, max(width.x, width.y));
      vec3 ground = mix(vec3(0.945, 0.955, 0.965), vec3(1.0), line);
      vec2 at = 0.5 + 0.5 * (v_place - u_lit.xy) / u_lit.z;
      bool outside = any(lessThan(at, vec2(0.0))) || any(greaterThan(at, vec2(1.0)));
      float shade = outside ? 0.0 : texture(u_shadow, at).r;
      ground = mix(ground, vec3(0.745, 0.785, 0.815), 0.95 * shade);
      float fade = smoothstep(0.35, 0.98, length(v_place - u_floor.xy) / u_floor.w);
      colour = vec4(mix(ground, vec3(1.0), fade), u_eye.z < u_floor.z ? 0.25 : 1.0);
    }`;
  const RIBBON_VERTEX = `#version 300 es
    layout(location = 0) in vec3 a_place; layout(location = 1) in vec3 a_next; layout(location = 2) in vec2 a_side;
    uniform mat4 u_view; uniform vec2 u_size; uniform float u_lift; out float v_age;
    void main() {
      vec4 p = u_view * vec4(a_place, 1.0), q = u_view * vec4(a_next, 1.0);
      vec2 along = (q.xy / q.w - p.xy / p.w) * u_size;
      vec2 across = length(along) > 1e-6 ? normalize(vec2(-along.y, along.x)) : vec2(0.0);
      gl_Position = p + vec4(a_side.x * across / u_size * p.w, -u_lift * p.w, 0.0);
      v_age = a_side.y;
    }`;
  const RIBBON_FRAGMENT = `#version 300 es
    precision mediump float; in float v_age; out vec4 colour; uniform vec3 u_colour; uniform float u_cover;
    void main() { colour = vec4(mix(vec3(1.0), u_colour, v_age), u_cover * (0.15 + 0.85 * v_age)); }`;

  // ------------------------------------------------------------------------------------------------ robots

  /* One run on one canvas. */
  function robotOf(canvas) {
    const scene = JSON.parse(byId(canvas.id.replace("stage", "scene")).textContent);
    const times = scene.times;
    const frames = times.length;
    const nodes = scene.nodes;
    const poseBytes = bytes(byId(canvas.id.replace("stage", "poses")).textContent);
    const places = new Uint16Array(poseBytes.buffer, 0, frames * nodes * 3);
    const turns = new Int16Array(poseBytes.buffer, frames * nodes * 6, frames * nodes * 4);
    const scale = scene.low.map((low, k) => (scene.high[k] - low) / 65535);
    const rods = scene.parts.filter((part) => part.kind === "rod");
    const rodNodes = rods.reduce((sum, rod) => sum + rod.count, 0); // the first of all nodes
    const values = new Uint8Array(poseBytes.buffer, frames * nodes * 14);
    const pulls = bytes(scene.pulls), tendons = frames ? pulls.length / frames : 0;

    /* Nodes at one time, between the two stored frames around it. */
    const now = {
      p: new Float32Array(nodes * 3), q: new Float32Array(nodes * 4), frame: 0, measure: -1, share: 1,
      value: new Float32Array(rodNodes), pull: new Float32Array(tendons),
    };

    function frameAt(time) {
      let low = 0, high = frames - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (times[middle] <= time) low = middle; else high = middle;
      }
      return low;
    }

    function pose(time) {
      const a = frameAt(time), b = Math.min(a + 1, frames - 1);
      const span = times[b] - times[a];
      const w = span > 0 ? Math.min(Math.max((time - times[a]) / span, 0), 1) : 0;
      now.frame = a;
      for (let i = 0; i < nodes; i++) {
        const pa = (a * nodes + i) * 3, pb = (b * nodes + i) * 3;
        for (let k = 0; k < 3; k++) {
          now.p[3 * i + k] = scene.low[k] + scale[k] * ((1 - w) * places[pa + k] + w * places[pb + k]);
        }
        const qa = (a * nodes + i) * 4, qb = (b * nodes + i) * 4;
        let dot = 0;
        for (let k = 0; k < 4; k++) dot += turns[qa + k] * turns[qb + k];
        const wb = dot < 0 ? -w : w; // q and -q are one rotation
        let norm = 0;
        for (let k = 0; k < 4; k++) {
          const x = (1 - w) * turns[qa + k] + wb * turns[qb + k];
          now.q[4 * i + k] = x;
          norm += x * x;
        }
        norm = Math.sqrt(norm) || 1;
        for (let k = 0; k < 4; k++) now.q[4 * i + k] /= norm;
      }
      if (now.measure >= 0) {
        const va = (now.measure * frames + a) * rodNodes, vb = (now.measure * frames + b) * rodNodes;
        const unit = now.share / 255; // of the scale, which two runs share
        for (let i = 0; i < rodNodes; i++) now.value[i] = unit * ((1 - w) * values[va + i] + w * values[vb + i]);
      }
      for (let i = 0; i < tendons; i++) {
        now.pull[i] = ((1 - w) * pulls[a * tendons + i] + w * pulls[b * tendons + i]) / 255;
      }
    }

    /* Columns of the rotation of a unit quaternion, written to m[at .. at + 8]. */
    function rotation(w, x, y, z, m, at) {
      m[at] = 1 - 2 * (y * y + z * z); m[at + 1] = 2 * (x * y + w * z); m[at + 2] = 2 * (x * z - w * y);
      m[at + 3] = 2 * (x * y - w * z); m[at + 4] = 1 - 2 * (x * x + z * z); m[at + 5] = 2 * (y * z + w * x);
      m[at + 6] = 2 * (x * z + w * y); m[at + 7] = 2 * (y * z - w * x); m[at + 8] = 1 - 2 * (x * x + y * y);
    }

    function centre() {
      const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
      for (let i = 0; i < nodes; i++) {
        for (let k = 0; k < 3; k++) {
          low[k] = Math.min(low[k], now.p[3 * i + k]);
          high[k] = Math.max(high[k], now.p[3 * i + k]);
        }
      }
      return low.map((x, k) => 0.5 * (x + high[k]));
    }

    /* From straight above: a square of half width r around (x, y). */
    function above(x, y, r) {
      const low = scene.low[2], high = scene.high[2], depth = 2 / Math.max(high - low, 1e-9);
      return Float32Array.from([
        1 / r, 0, 0, 0, 0, 1 / r, 0, 0, 0, 0, -0.5 * depth, 0, -x / r, -y / r, 0.25 * depth * (low + high), 1,
      ]);
    }

    const reach = 0.5 * Math.hypot(...scene.high.map((x, k) => x - scene.low[k]));
    const middle = scene.high.map((x, k) => 0.5 * (x + scene.low[k]));
    const camera = { elevation: 0, azimuth: 0, distance: 1, shift: [0, 0, 0], follow: false };

    function resetCamera() {
      camera.elevation = scene.view[0] * DEGREE;
      camera.azimuth = scene.view[1] * DEGREE;
      // as near as all that is shown allows, and in the middle of the picture
      const z = direction(camera.elevation, camera.azimuth), x = unit(cross([0, 0, 1], z)), y = cross(z, x);
      const high = Math.tan(ANGLE / 2), wide = high * canvas.clientWidth / Math.max(canvas.clientHeight, 1);
      let outline = scene.outline.map((p) => p.map((c, k) => c - middle[k]));
      const shift = [0, 0];
      if (camera.follow) {
        outline = [...Array(8).keys()].map((k) => [0, 1, 2].map((axis) => ((k >> axis) & 1 ? 1.1 : -1.1) * scene.extent));
      }
      const seen = outline.map((p) => [inner(p, x), inner(p, y), inner(p, z)]);
      const nearest = Math.max(...seen.map((p) => p[2])) + 0.1 * reach;
      camera.distance = nearest + reach;
      for (let again = 0; again < 20; again++) { // in perspective, what is near counts more
        const half = [0, 1].map((k) => {
          const side = seen.map((p) => (p[k] - shift[k]) / (camera.distance - p[2]));
          const most = Math.max(...side), least = Math.min(...side);
          shift[k] += 0.5 * (most + least) * camera.distance;
          return 0.5 * (most - least);
        });
        camera.distance = Math.max(nearest, camera.distance * 1.12 * Math.max(half[0] / wide, half[1] / high));
      }
      camera.shift = x.map((c, k) => shift[0] * c + shift[1] * y[k]);
    }

    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (!gl) return null;

    function program(vertex, fragment) {
      const linked = gl.createProgram();
      for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, source);
        gl.compileShader(shader);
        if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) problem(gl.getShaderInfoLog(shader));
        gl.attachShader(linked, shader);
      }
      gl.linkProgram(linked);
      if (!gl.getProgramParameter(linked, gl.LINK_STATUS)) problem(gl.getProgramInfoLog(linked));
      const at = {};
      for (let k = 0; k < gl.getProgramParameter(linked, gl.ACTIVE_UNIFORMS); k++) {
        const name = gl.getActiveUniform(linked, k).name;
        at[name] = gl.getUniformLocation(linked, name);
      }
      return { program: linked, at };
    }

    function attribute(place, buffer, size, stride, offset) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 4 * stride, 4 * offset);
    }
    function buffer(data, usage = gl.STATIC_DRAW) {
      const made = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, made);
      gl.bufferData(gl.ARRAY_BUFFER, data, usage);
      return made;
    }
    function indexed(numbers) {
      const made = gl.createBuffer();
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, made);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(numbers), gl.STATIC_DRAW);
      return numbers.length;
    }

    /* A body: quadrilaterals, four vertices each with place, normal and colour. */
    function meshOf(text) {
      const data = floats(text), count = data.length / 9;
      const array = gl.createVertexArray();
      gl.bindVertexArray(array);
      const held = buffer(data);
      attribute(0, held, 3, 9, 0);
      attribute(1, held, 3, 9, 3);
      const colour = new Float32Array(4 * count);
      for (let i = 0; i < count; i++) colour.set(data.subarray(9 * i + 6, 9 * i + 9), 4 * i);
      attribute(2, buffer(colour), 4, 4, 0);
      const order = [];
      for (let i = 0; i < count; i += 4) order.push(i, i + 1, i + 2, i, i + 2, i + 3);
      return { array, count: indexed(order) };
    }

    /* A rod: rings around a smooth centre line, with smaller rings as a round cap at both ends. */
    const LIFTS = [1.0, 0.97, 0.87, 0.71, 0.5, 0.26];
    const CIRCLE = [];
    for (let a = 0; a <= scene.around; a++) {
      const angle = 2 * Math.PI * a / scene.around;
      CIRCLE.push([Math.cos(angle), Math.sin(angle)]);
    }
    const ROW = CIRCLE.length;

    class Tube {
      constructor(part) {
        this.part = part;
        this.weights = floats(scene.weights[part.weights]);
        this.along = this.weights.length / part.count;
        this.half = floats(part.half);
        this.between = floats(part.between); // which two nodes each fine point lies between
        this.rings = this.along + 2 * LIFTS.length;
        this.size = this.rings * ROW;
        this.line = new Float32Array(12 * this.along); // centre and three axes of each section
        this.signed = new Float32Array(4 * part.count);
        this.data = null; // its share of the vertices of all rods
      }

      colours(into) { // the stripe on the +y side shows how a rod is twisted
        for (let i = 0; i < this.size; i++) {
          const ring = Math.floor(i / ROW), body = ring >= LIFTS.length && ring < this.rings - LIFTS.length;
          into.set([...this.part.colour, body ? CIRCLE[i % ROW][0] : 0], 4 * i);
        }
      }

      order(first, into) {
        for (let i = 0; i + 1 < this.rings; i++) {
          for (let a = 0; a + 1 < ROW; a++) {
            const k = first + i * ROW + a;
            into.push(k, k + 1, k + ROW + 1, k, k + ROW + 1, k + ROW);
          }
        }
      }

      move() {
        const { part, weights, line, signed } = this, n = part.count, first = part.first;
        for (let i = 0; i < n; i++) { // neighbours on one side before interpolating
          let dot = 0;
          for (let k = 0; k < 4; k++) dot += i ? signed[4 * i - 4 + k] * now.q[4 * (first + i) + k] : 1;
          const sign = dot < 0 ? -1 : 1;
          for (let k = 0; k < 4; k++) signed[4 * i + k] = sign * now.q[4 * (first + i) + k];
        }
        for (let f = 0; f < this.along; f++) {
          let x = 0, y = 0, z = 0, qw = 0, qx = 0, qy = 0, qz = 0;
          for (let i = 0; i < n; i++) {
            const w = weights[f * n + i], p = 3 * (first + i);
            x += w * now.p[p]; y += w * now.p[p + 1]; z += w * now.p[p + 2];
            qw += w * signed[4 * i]; qx += w * signed[4 * i + 1]; qy += w * signed[4 * i + 2]; qz += w * signed[4 * i + 3];
          }
          const norm = Math.hypot(qw, qx, qy, qz) || 1, at = 12 * f;
          line[at] = x; line[at + 1] = y; line[at + 2] = z;
          rotation(qw / norm, qx / norm, qy / norm, qz / norm, line, at + 3);
        }
        const last = this.along - 1;
        let ring = 0;
        for (const lift of LIFTS) this.ring(ring++, 0, -lift);
        for (let f = 0; f <= last; f++) this.ring(ring++, f, 0);
        for (const lift of LIFTS.slice().reverse()) this.ring(ring++, last, lift);
      }

      /* lift: how far a ring of a cap stands out, from 0 (none) to 1 (the pole), negative at the base. */
      ring(ring, f, lift) {
        const { line, data, half } = this, at = 12 * f;
        const hy = half[2 * f], hz = half[2 * f + 1], out = 0.5 * Math.min(hy, hz) * lift;
        const shrink = Math.sqrt(Math.max(1 - lift * lift, 0));
        let to = 7 * ring * ROW, value = -1;
        if (now.measure >= 0) {
          const { first, count } = this.part, place = this.between[f], i = Math.min(Math.floor(place), count - 2);
          value = now.value[first + i] + (place - i) * (now.value[first + i + 1] - now.value[first + i]);
        }
        for (const [c, s] of CIRCLE) {
          const y = hy * c * shrink, z = hz * s * shrink;
          const norm = Math.hypot(hz * c, hy * s) || 1, ny = shrink * hz * c / norm, nz = shrink * hy * s / norm;
          for (let k = 0; k < 3; k++) {
            const X = line[at + 3 + k], Y = line[at + 6 + k], Z = line[at + 9 + k];
            data[to + k] = line[at + k] + out * X + y * Y + z * Z;
            data[to + 3 + k] = lift * X + ny * Y + nz * Z;
          }
          data[to + 6] = value;
          to += 7;
        }
      }
    }

    /* All rods in one buffer, drawn at once. */
    class Tubes {
      constructor(parts) {
        this.tubes = parts.map((part) => new Tube(part));
        const size = this.tubes.reduce((sum, tube) => sum + tube.size, 0), order = [];
        const colour = new Float32Array(4 * size);
        this.data = new Float32Array(7 * size);
        let first = 0;
        for (const tube of this.tubes) {
          tube.data = this.data.subarray(7 * first, 7 * (first + tube.size));
          tube.colours(colour.subarray(4 * first, 4 * (first + tube.size)));
          tube.order(first, order);
          first += tube.size;
        }
        this.array = gl.createVertexArray();
        gl.bindVertexArray(this.array);
        this.held = buffer(this.data, gl.DYNAMIC_DRAW);
        attribute(0, this.held, 3, 7, 0);
        attribute(1, this.held, 3, 7, 3);
        attribute(3, this.held, 1, 7, 6);
        attribute(2, buffer(colour), 4, 4, 0);
        this.count = indexed(order);
      }
      move() {
        for (const tube of this.tubes) tube.move();
        gl.bindBuffer(gl.ARRAY_BUFFER, this.held);
        gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.data);
      }
    }

    /* Lines of constant width on the screen, filled anew for every picture. */
    class Ribbons {
      constructor(points) {
        this.data = new Float32Array(16 * Math.max(points, 1));
        this.strips = []; // first vertex, number of vertices, colour
        this.end = 0;
        this.array = gl.createVertexArray();
        gl.bindVertexArray(this.array);
        this.held = buffer(this.data, gl.DYNAMIC_DRAW);
        attribute(0, this.held, 3, 8, 0);
        attribute(1, this.held, 3, 8, 3);
        attribute(2, this.held, 2, 8, 6);
      }
      begin() {
        this.strips.length = 0;
        this.end = 0;
      }
      /* The first count points of a way, half as wide as said; those that fade are white where they begin. */
      add(way, count, wide, colour, fades) {
        const { data } = this;
        this.strips.push([this.end / 8, 2 * count, colour]);
        for (let i = 0; i < count; i++) {
          const next = i + 1 < count ? 1 : -1; // the last point looks back, and its sides change places
          for (let side = 1; side >= -1; side -= 2) {
            for (let k = 0; k < 3; k++) data[this.end++] = way[3 * i + k];
            for (let k = 0; k < 3; k++) data[this.end++] = way[3 * (i + next) + k];
            data[this.end++] = next * side * wide * sharpness;
            data[this.end++] = fades ? i / (count - 1) : 1;
          }
        }
      }
      send() {
        gl.bindBuffer(gl.ARRAY_BUFFER, this.held);
        gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.data.subarray(0, this.end));
      }
      draw(at) {
        gl.bindVertexArray(this.array);
        for (const [first, count, colour] of this.strips) {
          gl.uniform3fv(at.u_colour, colour);
          gl.drawArrays(gl.TRIANGLE_STRIP, first, count);
        }
      }
    }

    /* Behind what moves. */
    class Trails {
      constructor(marked) {
        this.marked = marked;
        this.many = marked.length > 8; // many long trails would hide the robot
        this.longest = this.many ? 60 : 400; // frames
        this.ribbons = new Ribbons((this.longest + 1) * marked.length);
        this.way = new Float32Array(3 * (this.longest + 1));
      }
      move() {
        const { way, ribbons } = this, first = Math.max(0, now.frame - this.longest + 1), count = now.frame - first + 2;
        ribbons.begin();
        for (const node of this.marked) {
          for (let i = 0; i < count; i++) {
            for (let k = 0; k < 3; k++) {
              const stored = scene.low[k] + scale[k] * places[((first + i) * nodes + node) * 3 + k];
              way[3 * i + k] = i + 1 < count ? stored : now.p[3 * node + k];
            }
          }
          ribbons.add(way, count, this.many ? 1.0 : 1.7, scene.accent, true);
        }
        ribbons.send();
      }
    }

    /* Tendons along rods and from guide to guide, the redder the more they pull. */
    class Tendons {
      constructor(tubes) {
        this.tubes = tubes;
        this.lines = scene.lines.map((line) => ({ ...line, offsets: floats(line.offsets) }));
        const points = this.lines.reduce((sum, line) => sum + line.offsets.length / 3, 2 * scene.spans.length);
        this.ribbons = new Ribbons(points);
        this.way = new Float32Array(3 * Math.max(points, 1));
      }
      colour(k) {
        return scene.slack.map((x, c) => x + now.pull[k] * (scene.accent[c] - x));
      }
      /* Where an offset d (numbers from d on) in a section of a rod, on a body or in the world is. */
      put(part, f, offsets, d, to) {
        const body = part >= rods.length ? scene.parts[part] : null, r = new Float32Array(9);
        const line = part >= 0 && !body ? this.tubes[part].line : null;
        if (body) rotation(...now.q.subarray(4 * body.first, 4 * body.first + 4), r, 0);
        for (let k = 0; k < 3; k++) {
          if (part < 0) this.way[to + k] = offsets[d + k];
          else this.way[to + k] = body ? now.p[3 * body.first + k] : line[12 * f + k];
        }
        for (let axis = 0; axis < 3 && part >= 0; axis++) {
          for (let k = 0; k < 3; k++) {
            this.way[to + k] += offsets[d + axis] * (body ? r[3 * axis + k] : line[12 * f + 3 + 3 * axis + k]);
          }
        }
      }
      move() {
        this.ribbons.begin();
        for (const { tendon, part, first, offsets } of this.lines) {
          const count = offsets.length / 3;
          for (let i = 0; i < count; i++) this.put(part, first + i, offsets, 3 * i, 3 * i);
          if (count > 1) this.ribbons.add(this.way, count, 1.5, this.colour(tendon), false);
        }
        for (const { tendon, ends } of scene.spans) {
          ends.forEach(([part, f, offset], i) => this.put(part, f, offset, 0, 3 * i));
          this.ribbons.add(this.way, 2, 1.5, this.colour(tendon), false);
        }
        this.ribbons.send();
      }
    }

    class Stage {
      constructor() {
        this.shaded = program(SHADED_VERTEX, SHADED_FRAGMENT);
        this.dark = program(SHADED_VERTEX, SHADOW_FRAGMENT);
        this.ground = program(FLOOR_VERTEX, FLOOR_FRAGMENT);
        this.ribbon = program(RIBBON_VERTEX, RIBBON_FRAGMENT);
        gl.vertexAttrib1f(3, -1); // meshes have colours of their own
        this.meshes = scene.meshes.map(meshOf);
        this.tubes = new Tubes(rods);
        this.bodies = scene.parts.filter((part) => part.kind === "body");
        this.tendons = new Tendons(this.tubes.tubes);
        this.trails = new Trails(scene.trails);
        this.showTrails = true;
        this.square = gl.createVertexArray();
        gl.bindVertexArray(this.square);
        attribute(0, buffer(Float32Array.from([-1, -1, 1, -1, -1, 1, 1, 1])), 2, 2, 0);
        this.blur = program(BLUR_VERTEX, BLUR_FRAGMENT);
        this.side = 224;
        this.layers = [this.layer(), this.layer()];
        gl.activeTexture(gl.TEXTURE1); // stays there
        const ramp = Uint8Array.from(scene.ramp.flatMap((colour) => [...colour.map((x) => Math.round(255 * x)), 255]));
        this.texture(scene.ramp.length, 1, ramp);
        gl.activeTexture(gl.TEXTURE0);
      }

      texture(width, height, data) {
        const texture = gl.createTexture();
        gl.bindTexture(gl.TEXTURE_2D, texture);
        gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, data);
        for (const [key, value] of [
          [gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
          [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
        ]) gl.texParameteri(gl.TEXTURE_2D, key, value);
        return texture;
      }

      /* A small picture to draw into. */
      layer() {
        const texture = this.texture(this.side, this.side, null), target = gl.createFramebuffer();
        gl.bindFramebuffer(gl.FRAMEBUFFER, target);
        gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
        gl.bindFramebuffer(gl.FRAMEBUFFER, null);
        return { texture, target };
      }

      soften(from, to, along) {
        gl.bindFramebuffer(gl.FRAMEBUFFER, to.target);
        gl.bindTexture(gl.TEXTURE_2D, from.texture);
        gl.uniform2f(this.blur.at.u_along, ...along);
        gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
      }

      parts(at) {
        const still = Float32Array.from([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
        gl.uniformMatrix4fv(at.u_model, false, still);
        if (this.tubes.count) this.drawIndexed(this.tubes);
        for (const held of scene.fixed) {
          this.place(at, held.q, held.p);
          this.drawIndexed(this.meshes[held.mesh]);
        }
        for (const body of this.bodies) {
          const i = body.first;
          this.place(at, now.q.subarray(4 * i, 4 * i + 4), now.p.subarray(3 * i, 3 * i + 3));
          this.drawIndexed(this.meshes[body.mesh]);
        }
        for (const disk of scene.disks) {
          const line = this.tubes.tubes[disk.part].line, f = 12 * disk.at;
          this.put(at, line.subarray(f + 3, f + 12), line.subarray(f, f + 3));
          this.drawIndexed(this.meshes[disk.mesh]);
        }
      }
      place(at, q, p) {
        const r = new Float32Array(9);
        rotation(q[0], q[1], q[2], q[3], r, 0);
        this.put(at, r, p);
      }
      put(at, r, p) {
        gl.uniformMatrix4fv(at.u_model, false, Float32Array.from([
          r[0], r[1], r[2], 0, r[3], r[4], r[5], 0, r[6], r[7], r[8], 0, p[0], p[1], p[2], 1,
        ]));
      }
      drawIndexed(part) {
        gl.bindVertexArray(part.array);
        gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
      }

      draw() {
        const width = Math.max(1, Math.round(canvas.clientWidth * sharpness));
        const height = Math.max(1, Math.round(canvas.clientHeight * sharpness));
        if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
        pose(clock.time);
        this.tubes.move();
        this.tendons.move();
        const trails = this.showTrails && frames > 1;
        if (trails) this.trails.move();
        const heart = centre();

        // camera: in front of the whole scene, or going along with the robot
        const target = (camera.follow ? heart : middle).map((x, k) => x + camera.shift[k]);
        const toCamera = direction(camera.elevation, camera.azimuth);
        const eye = target.map((x, k) => x + camera.distance * toCamera[k]);
        const depth = camera.distance + 8 * reach;
        const view = multiply(perspective(ANGLE, width / height, 0.004 * depth, depth), lookAt(eye, target));
        const lamp = direction(camera.elevation + 38 * DEGREE, camera.azimuth - 35 * DEGREE);
        const halfway = unit(toCamera.map((x, k) => x + lamp[k]));

        // what a lamp straight above leaves dark on the floor
        const lit = [heart[0], heart[1], 1.35 * scene.extent];
        gl.bindFramebuffer(gl.FRAMEBUFFER, this.layers[0].target);
        gl.viewport(0, 0, this.side, this.side);
        gl.disable(gl.DEPTH_TEST);
        gl.disable(gl.BLEND);
        gl.clearColor(0, 0, 0, 1);
        gl.clear(gl.COLOR_BUFFER_BIT);
        gl.useProgram(this.dark.program);
        gl.uniformMatrix4fv(this.dark.at.u_view, false, above(...lit));
        this.parts(this.dark.at);
        gl.useProgram(this.blur.program);
        gl.uniform1i(this.blur.at.u_shadow, 0);
        gl.bindVertexArray(this.square);
        this.soften(this.layers[0], this.layers[1], [1 / this.side, 0]);
        this.soften(this.layers[1], this.layers[0], [0, 1 / this.side]);

        // floor, parts, trails
        gl.bindFramebuffer(gl.FRAMEBUFFER, null);
        gl.viewport(0, 0, width, height);
        gl.clearColor(1, 1, 1, 1);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        gl.enable(gl.DEPTH_TEST);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
        gl.useProgram(this.shaded.program);
        gl.uniformMatrix4fv(this.shaded.at.u_view, false, view);
        gl.uniform3fv(this.shaded.at.u_lamp, lamp);
        gl.uniform3fv(this.shaded.at.u_halfway, halfway);
        gl.uniform1i(this.shaded.at.u_ramp, 1);
        this.parts(this.shaded.at);
        const ground = this.ground.at;
        gl.useProgram(this.ground.program);
        gl.uniformMatrix4fv(ground.u_view, false, view);
        gl.uniform4f(ground.u_floor, target[0], target[1], scene.low[2], 1.5 * Math.max(reach, 0.5 * camera.distance));
        gl.uniform3fv(ground.u_lit, lit);
        gl.uniform1f(ground.u_grid, scene.grid);
        gl.uniform3fv(ground.u_eye, eye);
        gl.uniform1i(ground.u_shadow, 0);
        gl.bindTexture(gl.TEXTURE_2D, this.layers[0].texture);
        gl.bindVertexArray(this.square);
        gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
        const lines = this.ribbon.at;
        gl.useProgram(this.ribbon.program);
        gl.uniformMatrix4fv(lines.u_view, false, view);
        gl.uniform2f(lines.u_size, width, height);
        gl.uniform1f(lines.u_lift, 0);
        gl.uniform1f(lines.u_cover, 1);
        if (trails) this.trails.ribbons.draw(lines);
        gl.uniform1f(lines.u_lift, 2e-5); // in front of the skin where they lie on it
        this.tendons.ribbons.draw(lines);
        gl.depthFunc(gl.GREATER); // what is inside or behind shines through
        gl.uniform1f(lines.u_cover, 0.55);
        this.tendons.ribbons.draw(lines);
        gl.depthFunc(gl.LESS);
        if (drawn < 3) { // asking waits for the graphics card, so not at every picture
          const wrong = gl.getError();
          if (wrong) problem(`WebGL error ${wrong}`);
        }
      }
    }

    return { canvas, scene, times, now, camera, resetCamera, reach, stage: new Stage() };
  }

  // ----------------------------------------------------------------------------------------- time and hands

  const robots = [...document.querySelectorAll("canvas")].map(robotOf).filter(Boolean);
  const plots = [...document.querySelectorAll("[data-t0]")];
  const slider = byId("time"), label = byId("clock"), button = byId("play");
  let start = 0, end = 0, stale = true, drawn = 0, before = 0;
  const measured = [];

  /* A slow machine, such as one without a graphics card, draws fewer points instead of fewer pictures. */
  function adapt(rate) {
    if (rate > 24 || sharpness <= 0.5 || measured.length < 20) return;
    sharpness = Math.max(0.5, 0.7 * sharpness);
    measured.length = 0;
    root.dataset.sharpness = sharpness.toFixed(2);
  }

  function showTime() {
    slider.value = String(end > start ? 1000 * (clock.time - start) / (end - start) : 0);
    label.textContent = `${clock.time.toFixed(robots[0].scene.digits)} s`;
    for (const plot of plots) {
      const { x0, x1, t0, t1 } = plot.dataset;
      const w = (clock.time - t0) / (t1 - t0);
      plot.lastElementChild.style.transform = `translateX(${(Number(x0) + w * (x1 - x0)) * plot.clientWidth}px)`;
    }
  }
  /* Colour rods by a measure, or, below zero, not; the bar says what the colours mean, in all runs. */
  function paint(measure) {
    const bar = byId("bar"), told = robots.map((robot) => robot.scene.measures[measure]), shown = told.find(Boolean);
    const largest = Math.max(...told.map((own) => (own ? own.largest : 0)));
    robots.forEach(({ now }, k) => {
      now.measure = told[k] ? measure : -1;
      now.share = told[k] ? told[k].largest / largest : 1;
    });
    stale = true;
    if (!bar) return;
    bar.hidden = !shown;
    if (!shown) return;
    bar.firstElementChild.textContent = `${shown.name} [${shown.unit}]`;
    const marks = [...bar.lastElementChild.children];
    marks.forEach((mark, k) => { mark.textContent = nice(largest * k / (marks.length - 1)); });
  }
  const nice = (x) => String(Number(x.toPrecision(3)));
  function seek(time) {
    clock.time = Math.min(Math.max(time, start), end);
    clock.rest = 0;
    stale = true;
    showTime();
  }
  function play(on) {
    clock.playing = on && end > start;
    if (clock.playing && clock.time >= end) seek(start);
    button.textContent = clock.playing ? "Pause" : "Play";
    button.setAttribute("aria-pressed", String(clock.playing));
    root.dataset.playing = String(clock.playing);
  }
  function tick(stamp) {
    const passed = before ? Math.min((stamp - before) / 1000, 0.1) : 0;
    before = stamp;
    if (clock.playing) {
      if (clock.time >= end) { // rests on the last picture, then begins again
        clock.rest += passed;
        if (clock.rest > 0.9) seek(start);
      } else {
        clock.time = Math.min(clock.time + passed * clock.speed, end);
        stale = true;
        showTime();
      }
    }
    if (stale) {
      stale = false;
      for (const robot of robots) robot.stage.draw();
      drawn += 1;
      measured.push(stamp);
      if (measured.length > 61) measured.shift();
      const seconds = (stamp - measured[0]) / 1000, rate = (measured.length - 1) / seconds;
      root.dataset.frames = String(drawn);
      root.dataset.time = clock.time.toFixed(4);
      if (seconds > 0) {
        root.dataset.rate = rate.toFixed(1);
        if (clock.playing) adapt(rate); else measured.length = 0;
      }
    }
    requestAnimationFrame(tick);
  }

  function resetCameras() {
    for (const robot of robots) robot.resetCamera();
    stale = true;
  }
  function zoom(factor) {
    for (const { camera, scene, reach } of robots) {
      camera.distance = Math.min(Math.max(camera.distance * factor, 0.02 * scene.extent), 20 * reach);
    }
    stale = true;
  }

  /* On one picture; the cameras of two runs turn together. */
  function hands({ canvas, camera }) {
    const held = new Map();
    let spread = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, event);
      spread = 0;
    });
    const release = (event) => { held.delete(event.pointerId); spread = 0; };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointermove", (event) => {
      const last = held.get(event.pointerId);
      if (!last) return;
      const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
      held.set(event.pointerId, event);
      if (held.size === 2) { // two fingers: nearer and farther
        const [a, b] = [...held.values()];
        const wide = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
        if (spread) zoom(spread / wide);
        spread = wide;
      } else if (event.shiftKey || event.buttons & 2) {
        const out = direction(camera.elevation, camera.azimuth), right = unit(cross([0, 0, 1], out));
        const up = cross(out, right), step = 2 * Math.tan(ANGLE / 2) * camera.distance / canvas.clientHeight;
        camera.shift = camera.shift.map((x, k) => x - step * dx * right[k] + step * dy * up[k]);
      } else {
        for (const robot of robots) {
          robot.camera.azimuth -= 0.008 * dx;
          robot.camera.elevation = Math.min(Math.max(robot.camera.elevation + 0.008 * dy, -1.5), 1.55);
        }
      }
      stale = true;
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(0.0012 * event.deltaY));
    }, { passive: false });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", resetCameras);
    new ResizeObserver(() => { stale = true; showTime(); }).observe(canvas);
  }

  function controls() {
    button.addEventListener("click", () => play(!clock.playing));
    slider.addEventListener("input", () => { play(false); seek(start + slider.value / 1000 * (end - start)); });
    byId("speed").addEventListener("change", (event) => { clock.speed = Number(event.target.value); });
    byId("follow").addEventListener("change", (event) => {
      for (const { camera } of robots) camera.follow = event.target.checked;
      resetCameras();
    });
    byId("colour")?.addEventListener("change", (event) => { paint(Number(event.target.value)); });
    byId("trails").addEventListener("change", (event) => {
      for (const { stage } of robots) stage.showTrails = event.target.checked;
      stale = true;
    });
    byId("reset").addEventListener("click", resetCameras);
    document.addEventListener("keydown", (event) => {
      if (event.target.closest("input, select, button, summary")) return;
      const one = Math.max((end - start) / 200, 1e-9);
      if (event.key === " ") play(!clock.playing);
      else if (event.key === "ArrowRight") { play(false); seek(clock.time + one); }
      else if (event.key === "ArrowLeft") { play(false); seek(clock.time - one); }
      else return;
      event.preventDefault();
    });
    for (const plot of plots) { // a click on a plot goes to that time
      plot.addEventListener("click", (event) => {
        const { x0, x1, t0, t1 } = plot.dataset, box = plot.getBoundingClientRect();
        const w = ((event.clientX - box.left) / box.width - x0) / (x1 - x0);
        play(false);
        seek(Number(t0) + w * (t1 - t0));
      });
    }
  }

  // -------------------------------------------------------------------------------------------------- begin

  if (!robots.length) {
    byId("no-webgl").hidden = false;
    root.dataset.player = "no-webgl";
    return;
  }
  start = Math.min(...robots.map(({ times }) => times[0]));
  end = Math.max(...robots.map(({ times }) => times[times.length - 1]));
  root.dataset.parts = String(robots.reduce((sum, { scene }) => sum + scene.parts.length, 0));
  root.classList.toggle("still", end <= start); // without the controls of time
  clock.speed = Number(byId("speed").value);
  for (const { scene, camera } of robots) camera.follow = scene.follow;
  byId("follow").checked = robots.some(({ camera }) => camera.follow);
  resetCameras();
  robots.forEach(hands);
  controls();
  paint(0);
  seek(start);
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  root.dataset.player = "ready";
  requestAnimationFrame(tick);
})();
