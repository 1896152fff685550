// Streams text into the page like the server does, one piece per frame.
(() => {
  const sockets = [];
  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    constructor(...all) {
      super(...all);
      sockets.push(this);
    }
  };
  const say = (event) => sockets.at(-1).onmessage({ data: JSON.stringify(event) });
  const frame = () => new Promise((done) => requestAnimationFrame(done));

  /** Returns the number of frames. */
  window.speak = async (agentId, text, perFrame) => {
    const step = "s-test";
    let frames = 0;
    say({ type: "step", agentId, step, state: "started", model: "test" });
    for (let at = 0; at < text.length; at += perFrame, frames++) {
      const piece = text.slice(at, at + perFrame);
      say({ type: "delta", agentId, step, part: 0, kind: "text", text: piece });
      await frame();
    }
    return frames;
  };
})();
